import contextlib
import csv
import errno
import fcntl
import locale
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

from dpbench.errors import Exit, PlatformError, ReaderLeft, UsageError
from dpbench.results import patience
from dpbench.results.csvfile import open_csv
from dpbench.results.csvtext import HEADER, encode, mended
from dpbench.results.record import COLUMNS, SCHEMA, Row

OK = Row(
    run_id="r1",
    started_at="2026-07-01T12:00:00Z",
    finished_at="2026-07-01T12:00:09Z",
    dpbench_version="0.1.0",
    command='dpbench -s "ps, ring"',
    mpi_library="Open MPI v5.0.11",
    thread_level="funneled",
    strategy="ring",
    ranks=4,
    workers=4,
    nodes=1,
    scope="host-memory",
    device="cpu",
    dtype="float32",
    bytes=4096,
    count=1024,
    slices_requested="auto",
    slices=1,
    window=1,
    seed=1,
    time_median_s=1.2345678901234567e-05,
    algbw_GB_per_s=0.1 + 0.2,
    wrong_elements=0,
    quality="ok",
)
SKIPPED = replace(
    OK, strategy="mpi", workers=None, slices=None, window=None, time_median_s=None, algbw_GB_per_s=None,
    wrong_elements=None, quality="skipped", reason="no such datatype, in this library",
)  # fmt: skip
INVALID = replace(
    OK,
    time_median_s=None,
    algbw_GB_per_s=None,
    wrong_elements=17,
    quality="invalid",
    reason="wrong\non rank 3",
)
BEGIN = b"%d,r1," % SCHEMA  #: of a row
ROWS = [OK, SKIPPED, INVALID]
LINE = encode([astuple(OK)])


def save(path: Path, rows: list[Row], **options: bool) -> None:
    file = open_csv(str(path), **options)
    file.write(rows)
    file.close()


def read(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def refusal(path: Path, **options: bool) -> str:
    with pytest.raises(PlatformError) as caught:
        open_csv(str(path), **options)
    assert caught.value.code == Exit.ENVIRONMENT
    return str(caught.value)


def test_the_header_is_the_contract() -> None:
    assert HEADER.decode() == (
        "schema,run_id,started_at,finished_at,dpbench_version,command,mpi_library,thread_level,strategy,operation,"
        "ranks,workers,nodes,scope,device,dtype,bytes,count,dedicated,servers,slices_requested,slices,window,cadence,"
        "warmup,iterations,stop_reason,seed,time_median_s,time_ci_low_s,time_ci_high_s,time_min_s,time_p25_s,"
        "time_p75_s,time_p95_s,time_max_s,algbw_GB_per_s,busbw_GB_per_s,total_bytes,busiest_rank,busiest_rank_bytes,"
        "busiest_node_bytes,limit_s,limit_fraction,wrong_elements,quality,warnings,reason,"
        "start_skew_s,span_s\n"
    )


def test_every_kind_of_row_has_the_fields_of_the_header(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    save(path, ROWS)
    with open(path, newline="", encoding="utf-8") as file:
        assert {len(fields) for fields in csv.reader(file)} == {len(COLUMNS)}
    assert b"\r" not in path.read_bytes()
    assert b", " not in HEADER


def test_values_survive_a_round_trip_and_what_is_not_defined_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    save(path, ROWS)
    ok, skipped, invalid = read(path)
    assert float(ok["time_median_s"]) == OK.time_median_s
    assert float(ok["algbw_GB_per_s"]) == OK.algbw_GB_per_s
    assert ok["command"] == OK.command
    assert (ok["time_p95_s"], ok["reason"]) == ("", "")
    assert (skipped["slices"], skipped["wrong_elements"], skipped["reason"]) == ("", "", SKIPPED.reason)
    assert (invalid["time_median_s"], invalid["wrong_elements"], invalid["reason"]) == (
        "",
        "17",
        r"wrong\non rank 3",
    )


def test_a_row_is_one_line_whatever_is_in_it(tmp_path: Path) -> None:
    save(tmp_path / "out.csv", [replace(OK, command="dpbench --csv 'a\r\nb\n.csv'"), *ROWS])
    assert len((tmp_path / "out.csv").read_bytes().splitlines()) == 1 + 4
    assert read(tmp_path / "out.csv")[0]["command"] == r"dpbench --csv 'a\r\nb\n.csv'"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_inf_are_never_written(tmp_path: Path, value: float) -> None:
    path = tmp_path / "out.csv"
    save(path, [replace(OK, busbw_GB_per_s=value)])
    assert read(path)[0]["busbw_GB_per_s"] == ""


def test_numbers_do_not_depend_on_the_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "localeconv", lambda: {"decimal_point": ",", "thousands_sep": "."})
    save(tmp_path / "out.csv", [OK])
    assert b"1.2345678901234568e-05" in (tmp_path / "out.csv").read_bytes()


def test_a_command_of_undecodable_bytes_is_written_as_utf8(tmp_path: Path) -> None:
    save(tmp_path / "out.csv", [replace(OK, command="dpbench --csv µ\udce9.csv")])
    assert read(tmp_path / "out.csv")[0]["command"] == "dpbench --csv µ\\udce9.csv"


def test_rows_are_on_the_disk_before_the_file_is_closed(tmp_path: Path) -> None:
    file = open_csv(str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_bytes() == HEADER
    for written in (1, 2):
        file.write([OK])
        assert len(read(tmp_path / "out.csv")) == written
    file.close()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    message = refusal(tmp_path / "missing" / "out.csv")
    assert "--csv" in message
    assert f"{tmp_path / 'missing'} does not exist" in message


@pytest.mark.parametrize("options", [{}, {"force": True}, {"append": True}])
def test_a_folder_is_no_file(tmp_path: Path, options: dict[str, bool]) -> None:
    assert "is a folder; name a file in it" in refusal(tmp_path, **options)


def test_a_file_as_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "--csv" in refusal(tmp_path / "file" / "out.csv")


def test_a_place_that_is_not_writable_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert "Permission denied; name a file that you may write" in refusal(tmp_path / "out.csv")


def test_a_folder_that_takes_no_files_is_refused() -> None:
    assert "; name a file that you may write" in refusal(Path("/sys/dpbench.csv"))


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("precious")
    message = refusal(path)
    assert "--force" in message
    assert "--append" in message
    assert path.read_text() == "precious"


def test_force_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old\n" * 1000)
    save(path, [OK], force=True)
    assert len(read(path)) == 1


def test_append_continues_with_one_header(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    for _ in range(3):
        save(path, [OK], append=True)
    assert path.read_bytes().count(b"schema,run_id") == 1
    assert len(read(path)) == 3


def test_append_removes_a_row_that_was_cut_short_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(HEADER + LINE + LINE[:100])
    file = open_csv(str(path), append=True)
    assert file.notes == [
        f"{path} ended within a row, as a run that is killed while writing leaves it: 100 bytes removed"
    ]
    file.write([INVALID])
    file.close()
    assert [row["quality"] for row in read(path)] == ["ok", "invalid"]


@pytest.mark.parametrize("row", ROWS)
def test_wherever_a_file_is_cut_whole_rows_are_left(row: Row) -> None:
    line = encode([astuple(row)])
    for cut in range(len(line)):
        keep, due = mended(HEADER + line + line[:cut])
        if due:  # only the end of the last field can be missing
            assert next(csv.reader([line[:cut].decode()]))[:-1] == next(csv.reader([line.decode()]))[:-1]
            assert (keep, due) == (len(HEADER + line) + cut, b"\n")
        else:
            assert keep == len(HEADER + line)


def test_append_gives_a_whole_row_its_line_end(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(HEADER + LINE[:-1])
    save(path, [INVALID], append=True)
    assert [row["quality"] for row in read(path)] == ["ok", "invalid"]


def test_append_removes_the_zeros_that_a_power_cut_may_leave(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(HEADER + LINE + bytes(100))
    save(path, [INVALID], append=True)
    assert [row["quality"] for row in read(path)] == ["ok", "invalid"]


def test_append_completes_a_header_without_its_line_end(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(HEADER[:-1])
    save(path, [OK], append=True)
    assert path.read_bytes().startswith(HEADER + BEGIN)


def test_append_to_a_file_of_a_later_version_says_that(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(HEADER[:-1] + b",energy_J\n" + LINE[:-1] + b",1\n")
    assert f"are not those of schema {SCHEMA}, but of a later one with more of them; name" in refusal(path, append=True)


@pytest.mark.parametrize(
    "content", [b"a,b,c\n1,2,3\n", b"x", HEADER[:-1] + b",more\n", HEADER[:-1] + b"\r\n"]
)
def test_append_refuses_other_columns_and_leaves_the_file_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(content)
    assert "--append: the columns of" in refusal(path, append=True)
    assert path.read_bytes() == content


def test_force_and_append_together_are_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one of them"):
        open_csv(str(tmp_path / "out.csv"), force=True, append=True)


def test_a_full_disk_is_reported_before_measuring() -> None:
    assert "cannot be written: No space left on device" in refusal(Path("/dev/full"))


def test_a_new_file_that_cannot_be_written_is_not_left_behind(tmp_path: Path) -> None:
    with room(100), pytest.raises(PlatformError, match="cannot be written: File too large"):
        open_csv(str(tmp_path / "out.csv"))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_already_is_reported_before_more_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(HEADER + LINE)
    with room(len(HEADER + LINE) + 50):
        assert "cannot be written: File too large" in refusal(path, append=True)
    assert path.read_bytes() == HEADER + LINE


def test_a_file_system_that_cannot_be_asked_for_room_is_good_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.EBADF, "cannot be asked")

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    open_csv(str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_bytes() == HEADER


@contextlib.contextmanager
def room(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes: the system takes a part of what is written, then refuses."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_fills_up_later_leaves_no_part_of_a_row(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    file = open_csv(str(path))
    file.write([OK])
    with room(len(HEADER + LINE + LINE) + 50), pytest.raises(PlatformError, match="File too large"):
        file.write([OK, SKIPPED])
    assert path.read_bytes() == HEADER + LINE
    file.write([INVALID])
    file.close()
    assert [row["quality"] for row in read(path)] == ["ok", "invalid"]


@pytest.mark.parametrize("number", [errno.EDQUOT, errno.EIO, errno.ENOSPC])
def test_what_a_file_system_refuses_only_at_the_end_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    file = open_csv(str(tmp_path / "out.csv"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(PlatformError, match=os.strerror(number)):
            file.write([OK])
    assert (tmp_path / "out.csv").read_bytes() == HEADER
    file.close()


def test_a_part_that_cannot_be_taken_back_is_removed_before_the_next_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "out.csv"
    file = open_csv(str(path))
    with monkeypatch.context() as patch, room(len(HEADER) + 50):
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(PlatformError, match="File too large"):
            file.write([OK])
    assert path.read_bytes() == HEADER + LINE[:50]
    file.write([INVALID])
    file.close()
    assert [row["quality"] for row in read(path)] == ["invalid"]


def test_rows_for_a_file_that_was_removed_are_not_lost_in_silence(tmp_path: Path) -> None:
    file = open_csv(str(tmp_path / "out.csv"))
    (tmp_path / "out.csv").unlink()
    with pytest.raises(PlatformError, match="the file was removed"):
        file.write([OK])
    file.close()


def test_nothing_follows_half_a_row_in_a_pipe() -> None:
    reader, writer = os.pipe()
    file = open_csv(f"/dev/fd/{writer}")
    os.close(reader)
    for _ in range(2):
        with pytest.raises(PlatformError, match="Broken pipe"):
            file.write([OK])
    assert file.broken
    file.close()
    os.close(writer)


def test_a_pipe_that_nobody_reads_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    assert "nobody has read this pipe" in refusal(tmp_path / "pipe")


def test_a_lock_that_is_never_given_back_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PATIENCE_S", 0.05)
    path = tmp_path / "out.csv"
    path.write_bytes(HEADER)
    with open(path, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "another process has had it locked for" in refusal(path, append=True)


def test_stdout_without_a_reader_is_not_the_environments_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        with pytest.raises(ReaderLeft) as caught:
            open_csv("-")
    assert caught.value.code == 141


def test_a_closed_stdout_takes_no_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(PlatformError, match="stdout is closed; name a file instead"):
        open_csv("-")


def test_devices_and_pipes_need_no_force(tmp_path: Path) -> None:
    save(Path(os.devnull), ROWS)
    reader, writer = os.pipe()
    save(Path(f"/dev/fd/{writer}"), [OK])
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert pipe.read().startswith(HEADER + BEGIN)


def test_a_dash_is_stdout_and_leaves_it_open(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = open_csv("-")
    file.write([OK])
    file.write([SKIPPED])
    file.close()
    print("still open")
    lines = capfdbinary.readouterr().out.splitlines(keepends=True)
    assert lines[0] == HEADER
    assert [line[:5] for line in lines[1:]] == [BEGIN, BEGIN, b"still"]


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_is_good_enough_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    file = open_csv(str(tmp_path / "out.csv"), append=True)
    file.write(ROWS)
    file.close()
    assert len(read(tmp_path / "out.csv")) == 3
    assert file.notes == [f"{tmp_path / 'out.csv'} cannot be locked there: let no other run append to it now"]


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_csvfile import OK
from dpbench.results.csvfile import open_csv
file = open_csv(sys.argv[1], append=True)
for block in range(50):
    file.write([replace(OK, run_id=sys.argv[2], seed=block, reason="x" * 5000)] * 3)
file.close()
"""


def test_two_runs_that_append_at_once_interleave_whole_rows(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    here = str(Path(__file__).parent)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, run, here]) for run in ("a", "b")]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    rows = read(path)
    assert len(rows) == 2 * 50 * 3
    assert path.read_bytes().count(b"schema,run_id") == 1
    for run in ("a", "b"):
        assert [int(row["seed"]) for row in rows if row["run_id"] == run] == [i // 3 for i in range(150)]
    assert {len(row["reason"]) for row in rows} == {5000}
