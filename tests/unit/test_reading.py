"""Result files of any kind and age: read, or refused with one message that says why."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as drawn
from launches import csv_file, csv_text, json_file, row

from dpbench import cli
from dpbench.errors import Exit, PlatformError
from dpbench.results import reading
from dpbench.results.cells import NEEDED
from dpbench.results.observed import ResultFile
from dpbench.results.reading import read
from dpbench.results.record import SCHEMA

ROWS = [
    row("ps", 1e-3),
    row("ps", 4e-4, operation="push"),
    row("ring", None, quality="skipped", reason="needs 2 ranks"),
]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[bytes], str]:
    def save(data: bytes) -> str:
        path = tmp_path / "file"
        path.write_bytes(data)
        return str(path)

    return save


Saved = Callable[[bytes], str]


def refusal(path: str) -> str:
    with pytest.raises(PlatformError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(path)
    assert "\n" not in message
    return message.removeprefix(path)


def test_a_csv_gives_what_was_written(tmp_path: Path) -> None:
    ps, push, ring = read(csv_file(tmp_path / "a.csv", ROWS)).observations
    assert (ps.identity.strategy, ps.identity.bytes, ps.identity.servers, ps.median) == ("ps", 4096, 1, 1e-3)
    assert (push.identity.operation, push.identity.phase) == ("allreduce", "push")
    assert (ring.timed, ring.quality, ring.reason, ring.identity.servers) == (False, "skipped", "needs 2 ranks", None)
    assert ps.resolved["slices"] == "1"


def test_json_says_the_same_as_csv(tmp_path: Path) -> None:
    from_csv, from_json = read(csv_file(tmp_path / "a.csv", ROWS)), read(json_file(tmp_path / "a.json", ROWS))
    assert from_csv.observations == from_json.observations


def test_in_json_what_is_missing_may_be_null_or_absent(saved: Saved) -> None:
    full = vars(row())
    absent = {name: value for name, value in full.items() if value is not None}
    one, other = (read(saved(json.dumps({"rows": [each]}).encode())).observations for each in (full, absent))
    assert one == other


def test_a_step_and_an_exchange_have_phases_of_their_own(tmp_path: Path) -> None:
    rows = [row("ps"), row("ps", operation="push"), row("ps", operation="step"), row("ps", operation="push")]
    found = read(csv_file(tmp_path / "a.csv", rows)).observations
    assert [(each.identity.operation, each.identity.phase) for each in found] == [
        ("allreduce", ""), ("allreduce", "push"), ("step", ""), ("step", "push")
    ]  # fmt: skip


def test_an_earlier_schema_lacks_its_last_columns_and_reads_the_same(saved: Saved) -> None:
    now = csv_text(ROWS).decode().splitlines()
    earlier = [now[0].removesuffix(",start_skew_s,span_s"), *("1" + line[1:].removesuffix(",,") for line in now[1:])]
    files = [read(saved("\n".join([*lines, ""]).encode())) for lines in (now, earlier)]
    assert files[0].observations == files[1].observations
    assert not files[1].notes


def test_columns_of_later_versions_are_ignored_with_a_note(saved: Saved) -> None:
    lines = csv_text(ROWS).decode().splitlines()
    newer = [lines[0] + ",colour", *(f"{SCHEMA + 1}{line[1:]},blue" for line in lines[1:])]
    found = read(saved("\n".join([*newer, ""]).encode()))
    assert len(found.observations) == 3
    assert "another version" in found.notes[0]
    document = {"schema": SCHEMA + 1, "rows": [{**vars(row()), "colour": "blue"}]}
    assert "another version" in read(saved(json.dumps(document).encode())).notes[0]


@pytest.mark.parametrize("name", NEEDED)
def test_an_older_file_without_a_column_that_is_needed_is_refused_by_its_name(saved: Saved, name: str) -> None:
    columns = csv_text([]).decode().strip().split(",")
    assert name in columns
    columns.remove(name)
    assert f"lacks columns of schema {SCHEMA}: {name}" in refusal(saved(",".join(columns).encode()))


def test_columns_that_are_not_needed_may_be_missing(saved: Saved) -> None:
    record = {name: getattr(row(), name) for name in ("schema", *NEEDED)}
    text = ",".join(record) + "\n" + ",".join("" if value is None else str(value) for value in record.values()) + "\n"
    (found,) = read(saved(text.encode())).observations
    assert found.median == 1e-3


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", csv_text([]), csv_text([])[:-1], b'{"rows": []}'])
def test_files_without_rows_hold_none(saved: Saved, data: bytes) -> None:
    found = read(saved(data))
    assert found.observations == ()
    assert "holds no rows" in found.notes[0]


def test_a_last_row_that_was_cut_short_is_told_of_and_not_read(saved: Saved) -> None:
    data = csv_text([row("ps"), row("ring", 0.123456)])
    begin = data.index(b"\n", data.index(b"\n") + 1) + 1
    for end in range(begin + 1, len(data) - 4):
        found = read(saved(data[:end]))
        assert [each.identity.strategy for each in found.observations] == ["ps"]
        assert "ends within a row" in found.notes[0]
    assert len(read(saved(data[:-1])).observations) == 2  # only its end is missing


def test_a_row_that_was_cut_in_the_middle_of_a_file_is_damage(saved: Saved) -> None:
    lines = csv_text([row("ps"), row("ring")]).split(b"\n")
    lines[1] = lines[1][:100]
    assert "damaged: line 2 has" in refusal(saved(b"\n".join(lines)))


def test_files_put_one_behind_the_other_are_one_file(saved: Saved) -> None:
    data = csv_text([row(run="a")]) + csv_text([row(run="b")])
    assert [each.run_id for each in read(saved(data)).observations] == ["a", "b"]


def test_line_ends_and_marks_of_other_systems_are_read(saved: Saved) -> None:
    data = b"\xef\xbb\xbf" + csv_text(ROWS).replace(b"\n", b"\r\n")
    assert len(read(saved(data)).observations) == 3


def test_a_file_that_a_spreadsheet_saved_is_explained(saved: Saved) -> None:
    assert "a spreadsheet" in refusal(saved(csv_text(ROWS).replace(b",", b";").replace(b".", b",")))


@pytest.mark.parametrize(
    "data",
    [
        *(b"\x00" * 99, b"\x7fELF\x02\x01", b"PK\x03\x04", b"size,time\n8,1\n", b"[1]", b"null", b"schema\n1\n"),
        *(b'{"rows": 1}', b'{"rows": [1]}', b'{"results": []}', b"{}", b"dpbench 0.1.0, started"),
    ],
)
def test_other_files_are_no_results(saved: Saved, data: bytes) -> None:
    assert "is not a CSV or JSON document of dpbench" in refusal(saved(data))


@pytest.mark.parametrize(
    "data", [b'{"rows": [', b"{" * 100_000, b'{"a":' * 100_000, b'{"rows": [{"bytes": ' + b"9" * 9999]
)
def test_a_broken_document_is_damage(saved: Saved, data: bytes) -> None:
    assert "is damaged, no JSON document" in refusal(saved(data))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("time_median_s", each) for each in ("nan", "inf", "-1", "1,5", "1.2.3", "0x1", "1e999", "1_0", "٣", [], {})),
        *(("bytes", each) for each in ("", "4096.5", "-1", "4K", "9" * 30, None, [1], 1.5, True - 2)),
        *(("strategy", each) for each in ("", None, {})),
        *(("run_id", each) for each in ("", None)),
        *(("servers", each) for each in ("many", -1)),
    ],
)
def test_cells_that_are_malformed_are_damage_and_named(saved: Saved, name: str, value: Any) -> None:
    document = {"rows": [vars(row()), {**vars(row()), name: value}]}
    message = refusal(saved(json.dumps(document).encode()))
    assert f"is damaged: row 2: {name}" in message


def test_numbers_that_json_cannot_hold_are_damage(saved: Saved) -> None:
    text = json.dumps({"rows": [{**vars(row()), "time_median_s": float("nan")}]})
    assert "time_median_s" in refusal(saved(text.encode()))


def test_what_a_file_says_is_fit_to_be_printed(tmp_path: Path) -> None:
    (found,) = read(csv_file(tmp_path / "a.csv", [row("ring\x1b[31m", mpi_library="a\tb\u202e")])).observations
    assert found.identity.strategy == r"ring\x1b[31m"
    assert found.resolved["mpi_library"] == r"a\tb\u202e"


def test_the_circumstances_in_a_document_become_facts(tmp_path: Path) -> None:
    def ranks(order: str) -> list[dict[str, Any]]:
        return [{"rank": rank, "host": host, "gpu": None} for rank, host in enumerate(order)]

    node = {"system": "Linux 6", "cpu": {"model": "X"}, "variables": {"UCX_TLS": "tcp"}}
    for order, crossings in (("AABB", 2), ("ABAB", 4)):
        environment = {"ranks": ranks(order), "nodes": [node, node]}
        (found,) = read(json_file(tmp_path / "a.json", [row()], environment=environment)).observations
        assert found.resolved["ring"].startswith(f"{crossings} of 4 ring neighbours on different nodes: n1")
        assert found.resolved["hosts"] == "A, B"
        assert (found.resolved["cpu"], found.resolved["$UCX_TLS"]) == ("X", "tcp")
    (found,) = read(
        json_file(tmp_path / "a.json", [row()], environment=environment, run={"ring": [0, 2, 1, 3]})
    ).observations
    assert found.resolved["placement"] == "n1 n2 n1 n2"
    assert found.resolved["ring"] == "2 of 4 ring neighbours on different nodes: n1 n1 n2 n2"


@pytest.mark.parametrize("path", ["nowhere.csv", "/dev/zero", ".", ""])
def test_what_cannot_be_read_is_said(path: str) -> None:
    with pytest.raises(PlatformError) as caught:
        read(path)
    assert path in str(caught.value)


def test_a_pipe_is_waited_for_as_long_as_somebody_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE_S", 0.2)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(PlatformError, match=r"pipe: nobody has written to this pipe for 0 s$"):
        read(str(path))

    def write_slowly() -> None:
        with open(path, "wb") as pipe:
            time.sleep(0.5)
            pipe.write(csv_text(ROWS))

    writer = threading.Thread(target=write_slowly)
    writer.start()
    assert len(read(str(path)).observations) == len(ROWS)
    writer.join()


def test_a_file_without_end_is_refused(monkeypatch: pytest.MonkeyPatch, saved: Saved) -> None:
    monkeypatch.setattr(reading, "LARGEST", 2**17)
    with pytest.raises(PlatformError, match=r"file: is larger than 128 KiB$"):
        read(saved(csv_text(ROWS) + bytes(2**18)))


@pytest.mark.parametrize("data", [b'{"rows": [' + b"9" * 5000 + b"]}", b"schema,a\rb"])
def test_damage_is_told_without_advice_for_programmers(saved: Saved, data: bytes) -> None:
    with pytest.raises(PlatformError, match=r"file: is damaged[^;]*$") as caught:
        read(saved(data))
    assert " - " not in str(caught.value)


def test_decimal_points_stay_points_in_any_locale(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "a.csv", [row("ps", 1.25e-3)])
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "dpbench", "compare", path, path],
            cwd=ROOT, env={**os.environ, "LC_ALL": name, "PYTHONUTF8": "1"}, capture_output=True, check=True,
        ).stdout
        for name in ("C.UTF-8", "de_DE.UTF-8")
    }  # fmt: skip
    assert len(outputs) == 1
    assert "1.250 ms" in outputs.pop().decode()


# Anything at all: documented exit codes only

CELLS = drawn.sampled_from(
    [
        "",
        "nan",
        "inf",
        "-1",
        "0",
        "1e999",
        "9" * 400,
        '"',
        "\x00",
        "ok",
        "skipped",
        "invalid",
        "\ud800",
        "ring",
        "1,5",
        "\x1b",
    ]
)
JSON = drawn.recursive(
    drawn.none() | drawn.booleans() | drawn.floats() | drawn.integers() | drawn.text(max_size=5) | CELLS,
    lambda inner: (
        drawn.lists(inner, max_size=3)
        | drawn.dictionaries(drawn.sampled_from(["rows", "schema", "bytes", *"ab"]), inner)
    ),
    max_leaves=8,
)
GOOD = csv_text([*ROWS, row("ring", run="s", quality="invalid", time=None)])


def changed(places: list[tuple[int, int]]) -> bytes:
    data = bytearray(GOOD)
    for place, value in places:
        data[place % len(data)] = value
    return bytes(data)


def with_cell(name: str, value: str) -> bytes:
    return csv_text([row("ps"), replace(row("ring"), **{name: value})])  # type: ignore[arg-type]


def document(name: str, value: object, more: object) -> bytes:
    return json.dumps({"schema": 1, "rows": [{**vars(row()), name: value}], "environment": more}).encode()


NAMES = drawn.sampled_from(sorted(vars(row())))
DATA = drawn.one_of(
    drawn.binary(max_size=64),
    drawn.integers(0, len(GOOD)).map(lambda end: GOOD[:end]),
    drawn.integers(0, len(GOOD)).map(lambda begin: GOOD[begin:]),
    drawn.lists(drawn.tuples(drawn.integers(0, 2**16), drawn.integers(0, 255)), max_size=4).map(changed),
    drawn.builds(with_cell, NAMES, CELLS),
    JSON.map(lambda value: json.dumps(value).encode()),
    JSON.map(lambda value: json.dumps({"rows": value}).encode()),
    drawn.builds(document, NAMES, JSON, JSON),
    drawn.builds(
        document, NAMES, JSON, drawn.dictionaries(drawn.sampled_from(["ranks", "nodes"]), drawn.lists(JSON, max_size=2))
    ),
    drawn.sampled_from(
        [GOOD, b"", csv_text([]), csv_text([])[:50], b"\n", b"{", b"\x00" * 64, b"schema,", b"schema,\xff\n"]
    ),
)
FLAGS = drawn.lists(
    drawn.sampled_from(
        ["--gate", "--phases", "--from-bytes=1M", "--tolerance=0", "--tolerance=100%", "--from-bytes=0"]
    ),
    max_size=2,
)


@given(DATA, DATA, FLAGS)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_documented_exit_codes_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], base: bytes, new: bytes, flags: list[str]
) -> None:
    paths = []
    for name, data in (("base", base), ("new", new)):
        (tmp_path / name).write_bytes(data)
        paths.append(str(tmp_path / name))
    code = cli.main(["compare", *paths, *flags])
    captured = capsys.readouterr()
    assert code in (Exit.OK, Exit.WRONG, Exit.ENVIRONMENT, Exit.NOTHING_COMPARABLE), captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err.splitlines()) == (code in (Exit.ENVIRONMENT, Exit.NOTHING_COMPARABLE))
    assert captured.err.isprintable() or captured.err.count("\n") == 1


def test_the_fuzz_meets_every_exit_code(tmp_path: Path) -> None:
    noise = random.Random(0)
    good, bad = csv_file(tmp_path / "good", [row(run=str(noise.random()))]), tmp_path / "bad"
    bad.write_bytes(GOOD)
    empty = csv_file(tmp_path / "empty", [])
    assert cli.main(["compare", good, good]) == Exit.OK
    assert cli.main(["compare", good, str(bad)]) == Exit.WRONG
    assert cli.main(["compare", good, str(tmp_path)]) == Exit.ENVIRONMENT
    assert cli.main(["compare", good, empty]) == Exit.NOTHING_COMPARABLE
    assert isinstance(read(good), ResultFile)


@pytest.mark.parametrize("ends", [{"time_ci_low_s": 5.0}, {"time_ci_high_s": 1e-9}])
def test_an_interval_that_does_not_hold_its_median_is_damage(saved: Saved, ends: dict[str, float]) -> None:
    message = refusal(saved(csv_text([row("ps", 1e-3, **ends)])))
    assert message.startswith(": is damaged: row 1: the interval from ")
    assert message.endswith(" does not hold its median, 0.001 s")


def test_a_document_of_a_run_that_did_not_end_is_told_of(tmp_path: Path) -> None:
    silent = read(json_file(tmp_path / "b", ROWS, complete=True)).notes
    told = read(json_file(tmp_path / "a", ROWS, complete=False)).notes
    assert silent == ()
    assert told == (
        f"{tmp_path / 'a'}: is not complete: its run goes on, was stopped or has failed; rows may be missing",
    )
