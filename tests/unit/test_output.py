"""The output of a whole run, and what it does where a disk is full, a reader leaves or the run is stopped."""

import contextlib
import csv
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_report import FACTS, row
from threadedworld import ThreadedWorld, on_ranks

from dpbench.errors import DpbenchError, PlatformError, ReaderLeft
from dpbench.measure.options import Options
from dpbench.measure.output import RootOutput
from dpbench.report.output import Report
from dpbench.results.phases import Breakdown
from dpbench.results.record import COLUMNS

STOPPED = "stopped by SIGTERM"


def size(nbytes: int) -> list[Breakdown]:
    return [Breakdown(row=row(name, 1e-5, bytes=nbytes)) for name in ("ps", "ring")]


def skipped(nbytes: int, reason: str = STOPPED) -> list[Breakdown]:
    rows = [row(name, bytes=nbytes, quality="skipped", reason=reason) for name in ("ps", "ring")]
    return [Breakdown(row=each) for each in rows]


def report(csv: object = None, begin: bool = True, **options: Any) -> Report:
    made = Report(Options(command="dpbench", csv=None if csv is None else str(csv), **options))
    if begin:
        made.begin(FACTS, 6, {})
    return made


def kept(path: Path) -> list[tuple[str, str]]:
    """The size and quality of each row; all rows are whole."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == COLUMNS
    assert {len(each) for each in rows} <= {len(COLUMNS)}
    return [(each[COLUMNS.index("bytes")], each[COLUMNS.index("quality")]) for each in rows]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a context in which the disk is full."""

    @contextlib.contextmanager
    def context() -> Any:
        def refuse(*_: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", refuse)
            yield

    return context


def test_a_full_disk_is_told_at_once_and_the_tables_go_on(
    tmp_path: Path, full: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out = report(tmp_path / "out.csv")
    out.size(size(4096))
    capsys.readouterr()
    with full():
        out.size(size(8192))
        printed = capsys.readouterr()
        assert "8 KiB" in printed.out
        assert printed.err == (
            f"dpbench: --csv {tmp_path / 'out.csv'}: cannot be written: No space left on device; the run goes on\n"
        )
        out.size(size(16384))
        printed = capsys.readouterr()
        assert ("16 KiB" in printed.out, printed.err) == (True, "")
        with pytest.raises(PlatformError, match=r"No space left on device; not in the file: 8 KiB, 16 KiB$"):
            out.end()
    assert "elements with a wrong sum" in capsys.readouterr().out
    assert kept(tmp_path / "out.csv") == [("4096", "ok")] * 2


def test_rows_that_found_no_room_are_written_when_there_is_some(tmp_path: Path, full: Any) -> None:
    out = report(tmp_path / "out.csv")
    with full():
        out.size(size(4096))
    out.size(size(8192))
    assert kept(tmp_path / "out.csv") == [("4096", "ok")] * 2 + [("8192", "ok")] * 2
    with pytest.raises(PlatformError, match=r"No space left on device; later it could: no row is missing$"):
        out.end()


def test_the_last_rows_get_one_more_chance(tmp_path: Path, full: Any) -> None:
    out = report(tmp_path / "out.csv")
    with full():
        out.size(size(4096))
    with pytest.raises(PlatformError, match="no row is missing"):
        out.end()
    assert kept(tmp_path / "out.csv") == [("4096", "ok")] * 2


def broken_stdout(monkeypatch: pytest.MonkeyPatch, closed: bool) -> Any:
    """Make stdout one without a reader, or without room."""
    if closed:
        reader, writer = os.pipe()
        os.close(reader)
    stdout = open(writer if closed else "/dev/full", "w", encoding="utf-8")  # noqa: SIM115
    monkeypatch.setattr(sys, "stdout", stdout)
    return stdout


def test_a_reader_that_leaves_costs_the_csv_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with broken_stdout(monkeypatch, closed=True):
        out = report(tmp_path / "out.csv")
        out.size(size(4096))
        out.end()
    assert len(kept(tmp_path / "out.csv")) == 2


def test_tables_that_find_no_room_cost_the_csv_nothing_but_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with broken_stdout(monkeypatch, closed=False):
        out = report(tmp_path / "out.csv")
        assert "/dev/full cannot be written: No space left on device; the run goes on" in capsys.readouterr().err
        out.size(size(4096))
        with pytest.raises(PlatformError, match="/dev/full cannot be written"):
            out.end()
    assert capsys.readouterr().err == ""
    assert len(kept(tmp_path / "out.csv")) == 2


@pytest.mark.parametrize(("closed", "error"), [(True, ReaderLeft), (False, PlatformError)])
def test_a_run_that_nobody_takes_results_of_ends(
    monkeypatch: pytest.MonkeyPatch, closed: bool, error: type[DpbenchError]
) -> None:
    with broken_stdout(monkeypatch, closed):
        out = report(begin=False, quiet=True)
        out.begin(FACTS, 4, {})
        with pytest.raises(error):
            out.size(size(4096))
        out.stop(STOPPED)


def test_a_reader_of_the_csv_that_leaves_leaves_the_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    with open(writer, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        out = report("-")
        os.close(reader)
        out.size(size(4096))
        out.size(size(8192))
        said = capsys.readouterr().err
        assert "8 KiB" in said
        assert "dpbench:" not in said
        with pytest.raises(ReaderLeft):
            out.end()


@pytest.mark.parametrize("quiet", [False, True])
def test_a_stopped_run_says_below_its_tables_and_in_its_rows_that_it_is_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], quiet: bool
) -> None:
    out = report(tmp_path / "out.csv", quiet=quiet)
    out.size(size(4096))
    out.size(size(8192))
    out.stop(STOPPED, [*skipped(16384), *skipped(32768)])
    printed = capsys.readouterr().out
    tables, _, rest = printed.partition("incomplete: stopped by SIGTERM, 2 of 4 sizes measured\n")
    assert "8 KiB" in tables
    assert ("elements with a wrong sum" in rest) != quiet
    assert kept(tmp_path / "out.csv")[2:] == [("8192", "ok")] * 2 + [("16384", "skipped")] * 2 + [
        ("32768", "skipped")
    ] * 2
    assert (tmp_path / "out.csv").read_text().count(STOPPED) == 4


def test_a_run_can_be_stopped_before_it_began(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = report(tmp_path / "out.csv", begin=False)
    out.stop(STOPPED)
    out.stop("stopped again")
    assert capsys.readouterr().out == "incomplete: stopped by SIGTERM, 0 of 0 sizes measured\n\n"
    assert not (tmp_path / "out.csv").exists()  # it has no row, and the next try would find it


def test_a_run_can_be_stopped_where_nothing_can_be_written(
    tmp_path: Path, full: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with broken_stdout(monkeypatch, closed=False):
        out = report(tmp_path / "out.csv", quiet=True)
        with full():
            out.stop(STOPPED, skipped(4096))
    err = capsys.readouterr().err
    assert "dpbench: incomplete: stopped by SIGTERM, 0 of 1 sizes measured\n" in err
    assert "not in the file: 4 KiB\n" in err


class Agreeing(ThreadedWorld):
    """Ranks that also take rank 0's word."""

    def from_root(self, value: Any) -> Any:
        return self.gather(value)[0]


def test_what_is_lost_on_rank_0_ends_the_run_with_the_same_code_on_all_ranks(tmp_path: Path, full: Any) -> None:
    def act(world: Any) -> tuple[int, str]:
        world = Agreeing(world.rank, world.size, world.values, world.barrier)
        out = RootOutput(world, lambda: report(tmp_path / "out.csv", begin=False))
        out.begin(FACTS, 2, {})
        with full() if world.rank == 0 else contextlib.nullcontext():
            out.size(size(4096))
            with pytest.raises(DpbenchError) as caught:
                out.end()
        return caught.value.code, str(caught.value)

    (root, message), *others = on_ranks(3, act)
    assert root == 3
    assert "not in the file: 4 KiB" in message
    assert others == [(3, "")] * 2


def test_all_ranks_stop_together(tmp_path: Path) -> None:
    def act(world: Any) -> int:
        world = Agreeing(world.rank, world.size, world.values, world.barrier)
        out = RootOutput(world, lambda: report(tmp_path / "out.csv", begin=False))
        out.stop(STOPPED, skipped(4096))
        return int(world.rank)

    assert on_ranks(3, act) == [0, 1, 2]
    assert kept(tmp_path / "out.csv") == [("4096", "skipped")] * 2


def test_who_gives_up_for_all_marks_what_is_missing_and_nothing_follows(tmp_path: Path) -> None:
    def act(world: Any) -> bool:
        world = Agreeing(world.rank, world.size, world.values, world.barrier)
        out = RootOutput(world, lambda: report(tmp_path / "out.csv", begin=False))
        out.begin(FACTS, 2, {})
        out.size(size(4096))
        out.comes(lambda reason: [*skipped(4096, reason), *skipped(8192, reason)])
        out.give_up(STOPPED)
        return out.busy.locked()

    assert on_ranks(2, act) == [True, False]
    assert kept(tmp_path / "out.csv") == [("4096", "ok")] * 2 + [("8192", "skipped")] * 2


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
from test_output import report, size
out = report(sys.argv[2])
for exponent in range(10, 60):
    out.size(size(2**exponent))
"""


def test_rows_whose_table_was_seen_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout
        seen = 0
        while seen < 3:
            seen += "fastest" in job.stdout.readline()
        job.send_signal(signal.SIGKILL)
    assert job.returncode == -signal.SIGKILL
    assert {"1024", "2048", "4096"} <= {nbytes for nbytes, _ in kept(path)}
    assert len(kept(path)) % 2 == 0


CLOSED = """
import sys
sys.path.insert(0, sys.argv[1])
from test_output import report, size
out = report(sys.argv[2])
out.say("note")
out.size(size(4096))
out.end()
"""


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_cost_the_csv_nothing(tmp_path: Path, redirection: str) -> None:
    path = tmp_path / "out.csv"
    words = [sys.executable, "-c", CLOSED, str(Path(__file__).parent), str(path)]
    job = subprocess.run(["sh", "-c", f'"$@" {redirection}', "sh", *words], check=False, capture_output=True, text=True)
    assert job.returncode == 0
    assert "Traceback" not in job.stderr
    assert len(kept(path)) == 2
