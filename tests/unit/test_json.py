"""The JSON document of a run: what it holds, that it is valid at any moment, and what becomes of it on a bad disk."""

import errno
import json
import math
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_output import broken_stdout, full, report, size, skipped  # noqa: F401 - a fixture
from test_report import FACTS, row
from threadedworld import on_ranks

from dpbench.errors import PlatformError, ReaderLeft
from dpbench.measure import raw as raw_times
from dpbench.measure.raw import Own, gathered
from dpbench.report.output import Report
from dpbench.results.document import Document
from dpbench.results.doubt import Doubt
from dpbench.results.jsonfile import open_json
from dpbench.results.link import Link
from dpbench.results.phases import Breakdown, Phase
from dpbench.results.raw import Raw, Times
from dpbench.results.record import COLUMNS, SCHEMA

BACKGROUND = {"options": {"--seed": "1"}, "plan": [{"strategy": "ps", "bytes": 4}], "environment": {"ranks": []}}
TIMES = Times(by_rank=[[1e-6, 2.5e-7], [3e-6, 4e-6]])
RAW = Raw(first=Times(by_rank=[[9e-6], [8e-6]]), warmups=Times(by_rank=[[], []]), samples=TIMES)


def parsed(text: str) -> dict[str, Any]:
    """A document, read by a parser that allows no NaN."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    document = json.loads(text, parse_constant=refuse)
    assert isinstance(document, dict)
    return document


def read(path: Path) -> dict[str, Any]:
    return parsed(path.read_text(encoding="ascii"))


def test_a_document_is_valid_whenever_it_is_asked_for() -> None:
    document = Document("dpbench --json x")
    first = parsed(document.text())
    document.begin(FACTS, BACKGROUND)
    second = parsed(document.text())
    document.add(size(4096))
    third = parsed(document.text())
    document.end(None, [{"load_1min": 0.5}])
    last = parsed(document.text())
    assert list(first) == list(second) == list(third) == list(last)
    assert [each["complete"] for each in (first, second, third, last)] == [False, False, False, True]
    assert [len(each["rows"]) for each in (first, second, third, last)] == [0, 0, 2, 2]
    assert (first["schema"], first["command"], first["plan"], first["run"]) == (SCHEMA, "dpbench --json x", [], None)
    assert first["started_at"].endswith("Z")
    assert (second["started_at"], second["plan"]) == (FACTS.started_at, BACKGROUND["plan"])
    assert last["environment_after"] == [{"load_1min": 0.5}]
    assert last["finished_at"] >= last["started_at"]


def test_a_document_holds_facts_links_rows_and_raw_times() -> None:
    document = Document("dpbench")
    document.begin(FACTS, BACKGROUND)
    phase = Phase(row=row("ps", 1e-6, operation="push"))
    document.add([Breakdown(row=row("ps", 1e-5), phases=(phase,), raw=RAW), Breakdown(row=row("ring", reason="none"))])
    found = parsed(document.text())
    assert found["run"]["hosts"] == ["node1"]
    assert (found["calibration"], found["groups"]) == ({}, [])
    assert found["environment"] == {"ranks": []}
    assert [(each["strategy"], each["operation"]) for each in found["rows"]] == [
        ("ps", "allreduce"),
        ("ps", "push"),
        ("ring", "allreduce"),
    ]
    assert all(tuple(each) == COLUMNS for each in found["rows"])
    assert found["raw"] == [
        {
            "strategy": "ps",
            "operation": "allreduce",
            "ranks": 4,
            "device": "cpu",
            "bytes": 4096,
            "first_over_median": pytest.approx(0.9),
            "exchanges_per_sample": 1,
            "first_s": {"by_rank": [[9e-6], [8e-6]]},
            "warmups_s": {"by_rank": [[], []]},
            "samples_s": {"by_rank": [[1e-6, 2.5e-7], [3e-6, 4e-6]]},
        }
    ]


def test_each_group_of_ranks_has_its_links_and_the_last_ones_are_those_of_the_run() -> None:
    document = Document("dpbench")
    document.begin(replace(FACTS, floor_s=None), BACKGROUND)
    link = Link(1e-6, 1.0, 2.0, 4.0, 8.0)
    for ranks in (2, 4):
        document.group(replace(FACTS, ranks=ranks, members=tuple(range(ranks)), floor_s=1e-6, links={"cpu": link}))
    found = parsed(document.text())
    assert [(each["ranks"], each["members"], each["floor_s"]) for each in found["groups"]] == [
        (2, [0, 1], 1e-6),
        (4, [0, 1, 2, 3], 1e-6),
    ]
    assert found["groups"][0]["calibration"]["cpu"]["rank"] == found["calibration"]["cpu"]["rank"] == 2.0
    assert (found["run"]["ranks"], found["run"]["floor_s"]) == (4, 1e-6)


def test_what_the_warnings_of_a_row_say_stands_beside_the_rows() -> None:
    document = Document("dpbench")
    doubt = Doubt("W07", "±6.1 % of the median", "raise --max-time", excess=math.inf)
    document.add([Breakdown(row=row("ps", 1e-6, warnings="W07"), doubts=(doubt,)), Breakdown(row=row("ring", 1e-6))])
    found = parsed(document.text())
    assert [each["warnings"] for each in found["rows"]] == ["W07", ""]
    assert found["warnings"] == [
        {
            "strategy": "ps",
            "operation": "allreduce",
            "ranks": 4,
            "device": "cpu",
            "bytes": 4096,
            "code": "W07",
            "cause": "±6.1 % of the median",
            "advice": "raise --max-time",
        }
    ]


def test_what_is_not_defined_is_null_and_numbers_keep_all_their_digits() -> None:
    document = Document("dpbench")
    document.add([Breakdown(row=row("ps", 0.1 + 0.2, busbw_GB_per_s=math.inf, limit_s=math.nan, warnings='"\n'))])
    (found,) = parsed(document.text())["rows"]
    assert found["time_median_s"] == 0.1 + 0.2
    assert found["busbw_GB_per_s"] is found["limit_s"] is found["time_p95_s"] is None
    assert found["warnings"] == '"\n'


OWN = [Own([9000], [4000], [1000, 2000, 3000]), Own([1], [2], [5000, 1000, 3000]), Own([2], [2], [1000, 1000, 1000])]


def test_the_times_of_few_ranks_are_kept_all() -> None:
    root, *others = on_ranks(3, lambda world: gathered(world, OWN[world.rank], everything=False))
    assert root == Raw(
        first=Times(by_rank=[[9e-6], [1e-9], [2e-9]]),
        warmups=Times(by_rank=[[4e-6], [2e-9], [2e-9]]),
        samples=Times(by_rank=[[1e-6, 2e-6, 3e-6], [5e-6, 1e-6, 3e-6], [1e-6, 1e-6, 1e-6]]),
    )
    assert others == [None, None]


def test_of_many_ranks_the_slowest_of_each_iteration_and_the_medians_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_times, "FEW", 2)
    root = on_ranks(3, lambda world: gathered(world, OWN[world.rank], everything=False))[0]
    assert root.cold_s == 9e-6
    assert root.samples.figures() == {
        "slowest": [5e-6, 2e-6, 3e-6],
        "slowest_rank": [1, 0, 1],
        "median_by_rank": [2e-6, 3e-6, 1e-6],
    }
    all_of_it = on_ranks(3, lambda world: gathered(world, OWN[world.rank], everything=True))[0]
    assert all_of_it.samples.by_rank[1] == [5e-6, 1e-6, 3e-6]


def test_no_warm_ups_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_times, "FEW", 1)
    root = on_ranks(2, lambda world: gathered(world, Own([1], [], [1]), everything=False))[0]
    assert root.warmups.figures() == {"slowest": [], "slowest_rank": [], "median_by_rank": [None, None]}


def test_the_file_holds_each_size_as_soon_as_its_table_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    out = report(json=str(path), begin=False)
    assert read(path)["rows"] == []
    out.begin(FACTS, 2, BACKGROUND)
    assert read(path)["run"]["ranks"] == 4
    out.size(size(4096))
    assert [each["bytes"] for each in read(path)["rows"]] == [4096, 4096]
    out.end()
    assert read(path)["complete"]
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_stopped_run_says_so_in_its_document(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    out = report(json=str(path), quiet=True)
    out.size(size(4096))
    out.stop("stopped by SIGTERM", skipped(8192))
    found = read(path)
    assert (found["complete"], found["reason"]) == (False, "stopped by SIGTERM")
    assert [each["quality"] for each in found["rows"]] == ["ok", "ok", "skipped", "skipped"]


def test_a_run_that_fails_leaves_a_valid_document_that_is_not_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    report(json=str(path)).size(size(4096))  # and nothing more: the rank is gone
    found = read(path)
    assert (found["complete"], found["finished_at"], len(found["rows"])) == (False, None, 2)


def test_an_existing_file_is_replaced_with_force_only(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("precious")
    with pytest.raises(PlatformError, match=r"--json .*out.json: the file exists; replace it with --force, or name"):
        report(json=str(path))
    assert path.read_text() == "precious"
    report(json=str(path), force=True).end()
    assert read(path)["complete"]
    link = tmp_path / "link.json"
    link.symlink_to(path)
    report(json=str(link), force=True).end()
    assert link.is_symlink()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "is a folder; name a file in it"),
        ("missing/out.json", "the folder .*missing does not exist; create it first"),
        ("file/out.json", "Not a directory"),
        ("x" * 256, "File name too long"),
    ],
)
def test_a_path_that_cannot_be_written_is_found_before_anything_else(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlatformError, match=f"^--json .*: .*{words}"):
        report(json=str(tmp_path / name), csv=tmp_path / "out.csv")
    assert os.listdir(tmp_path) == ["file"]


def test_a_csv_that_cannot_be_written_leaves_the_document_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with pytest.raises(PlatformError, match="--csv"):
        report(tmp_path / "missing/out.csv", json=str(path))
    assert os.listdir(tmp_path) == []
    path.write_text("precious")
    with pytest.raises(PlatformError, match="--csv"):
        report(tmp_path / "missing/out.csv", json=str(path), force=True)
    assert path.read_text() == "precious"


def test_another_run_that_was_faster_keeps_its_file(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    file = open_json(str(path))
    path.write_text("theirs")
    with pytest.raises(PlatformError, match="cannot be written: File exists"):
        file.write(b"{}")
    assert path.read_text() == "theirs"


def test_runs_that_replace_the_same_file_do_not_meet_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.json"
    first = open_json(str(path), force=True)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    second = open_json(str(path), force=True)
    assert len(os.listdir(tmp_path)) == 2
    second.write(b'{"of": 2}')
    first.write(b'{"of": 1}')
    assert (read(path), os.listdir(tmp_path)) == ({"of": 1}, ["out.json"])


@pytest.mark.parametrize("ended", ["stop", "abandon"])
def test_a_run_that_ends_before_its_first_row_leaves_no_file_that_it_made(tmp_path: Path, ended: str) -> None:
    names = [str(tmp_path / name) for name in ("out.csv", "out.json")]
    getattr(report(names[0], json=names[1]), ended)("the links cannot be measured")
    assert os.listdir(tmp_path) == []
    for name in names:
        Path(name).write_text("theirs")
    getattr(report(names[0], json=names[1], force=True), ended)("the links cannot be measured")
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.json"]
    assert read(Path(names[1]))["reason"] == "the links cannot be measured"


def test_a_first_document_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PlatformError, match=r"--json .* No space left on device"):
        report(tmp_path / "out.csv", json=str(tmp_path / "out.json"), begin=False)
    assert os.listdir(tmp_path) == []


def test_a_run_that_is_abandoned_gives_stdout_its_finished_sizes(capfd: pytest.CaptureFixture[str]) -> None:
    out = report(json="-")
    out.size(size(4096))
    out.abandon("rank 1 failed")
    found = parsed(capfd.readouterr().out)
    assert (found["complete"], found["reason"], len(found["rows"])) == (False, "rank 1 failed", 2)


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    out = report(json=str(tmp_path / "out.json"))
    out.size(size(4096))
    out.end()
    assert read(tmp_path / "out.json")["complete"]


def test_a_full_disk_is_told_at_once_and_the_last_valid_document_stays(
    tmp_path: Path, full: Any, capsys: pytest.CaptureFixture[str]  # noqa: F811
) -> None:
    path = tmp_path / "out.json"
    out = report(json=str(path))
    out.size(size(4096))
    capsys.readouterr()
    with full():
        out.size(size(8192))
        out.size(size(16384))
        printed = capsys.readouterr()
        assert "16 KiB" in printed.out
        assert printed.err == f"dpbench: --json {path}: cannot be written: No space left on device; the run goes on\n"
        with pytest.raises(PlatformError, match=r"No space left on device; the file lacks what came after$"):
            out.end()
    assert len(read(path)["rows"]) == 2
    assert os.listdir(tmp_path) == ["out.json"]


def test_what_found_no_room_is_written_when_there_is_some(tmp_path: Path, full: Any) -> None:  # noqa: F811
    out = report(json=str(tmp_path / "out.json"))
    with full():
        out.size(size(4096))
    out.size(size(8192))
    assert len(read(tmp_path / "out.json")["rows"]) == 4
    with pytest.raises(PlatformError, match=r"later it could: nothing is missing$"):
        out.end()


def test_a_disk_without_room_for_the_first_document_is_an_error_before_measuring(
    tmp_path: Path, full: Any  # noqa: F811
) -> None:
    with full(), pytest.raises(PlatformError, match=r"No space left on device$"):
        report(json=str(tmp_path / "out.json"))
    assert os.listdir(tmp_path) == []


def test_stdout_gets_one_document_and_the_tables_go_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    out = report(json="-")
    out.size(size(4096))
    out.end()
    printed = capfd.readouterr()
    assert parsed(printed.out)["complete"]
    assert "4 KiB" in printed.err


def test_a_reader_of_the_document_that_leaves_is_told_by_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    with broken_stdout(monkeypatch, closed=True):
        out = report(json="-")
        out.size(size(4096))
        with pytest.raises(ReaderLeft):
            out.end()


def test_a_reader_of_the_tables_that_leaves_costs_the_document_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with broken_stdout(monkeypatch, closed=True):
        out = report(json=str(tmp_path / "out.json"))
        out.size(size(4096))
        out.end()
    assert read(tmp_path / "out.json")["complete"]


def test_a_device_gets_the_document_at_the_end() -> None:
    out: Report = report(json="/dev/null")
    out.size(size(4096))
    out.end()
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
from test_json import report, size, RAW
from dataclasses import replace
out = report(json=sys.argv[2])
for exponent in range(10, 60):
    out.size([replace(each, raw=RAW) for each in size(2**exponent)])
"""


def test_a_run_that_is_killed_leaves_a_valid_document_with_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout
        seen = 0
        while seen < 3:
            seen += "fastest" in job.stdout.readline()
            if path.exists():
                read(path)
        job.send_signal(signal.SIGKILL)
    assert {1024, 2048, 4096} <= {each["bytes"] for each in read(path)["rows"]}
    report(json=str(path), force=True).end()
