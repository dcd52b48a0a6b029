"""One rank fails, stalls or is told to stop: the job ends soon, says where, and keeps its rows."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher import Finished, end_all, launcher, mpirun, survivors

from jobs import DPBENCH, ROOT, Row, rows_of

INSTALLED = ("-c", "import sys\nfrom dpbench.cli import main\nsys.exit(main())")  # as pip writes the command `dpbench`
QUICK = ("--sizes", "4K,16K", "-n", "4", "-w", "1", "-q")
LONG = ("-s", "ps,ring", "--sizes", "4K,64K,4M", "-n", "200", "-w", "1", "-q")
MARK = "DPBENCH_TEST_JOB"


def job(fault: str, *args: str, command: tuple[str, ...] = DPBENCH) -> Finished:
    return mpirun(4, *command, *QUICK, *args, env={"DPBENCH_TEST_HOOKS": fault, "PYTHONPATH": str(ROOT)})


def test_a_bug_on_one_rank_of_the_installed_command_ends_the_job_and_shows_where() -> None:
    begin = time.monotonic()
    done = job("raise@1:ps:3=KeyError", command=INSTALLED)
    assert time.monotonic() - begin < 15
    assert done.returncode == 4
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.count("rank 1 on ") == 1
    assert ": ps 4 KiB, iteration 3: KeyError: 'planted'\n" in done.stderr


def test_the_document_on_stdout_has_the_sizes_that_were_finished_before_a_rank_failed(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    done = job("raise@last:ring:9=KeyError", "-s", "ring", "--json", "-", "--csv", str(file))
    assert done.returncode == 4
    document = json.loads(done.stdout)
    assert (document["complete"], document["reason"]) == (False, "rank 3 failed")
    assert [(row["bytes"], row["quality"]) for row in document["rows"]][1] == (16384, "skipped")
    assert document["rows"][0]["time_median_s"] > 0
    assert [row["reason"] for row in rows_of(file.read_text())] == ["", "rank 3 failed"]
    assert "incomplete: rank 3 failed, 1 of 2 sizes measured" in done.stderr


def test_a_bug_on_all_ranks_is_told_once() -> None:
    done = job("raise@*:ring:2=KeyError")
    assert done.returncode == 4
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.count("rank 0 on ") == done.stderr.count("KeyError: 'planted'\n") - 1 == 1


def test_what_is_no_bug_shows_its_traceback_when_asked() -> None:
    done = job("raise@last:ring:2=MemoryError", "--debug")
    assert "Traceback" in done.stderr
    assert ": ring 4 KiB, iteration 2: out of memory: planted\n" in done.stderr


def test_an_exchange_that_stands_still_is_told_by_slice_round_phase_and_peer() -> None:
    done = job("drop@1:ring:4", "--timeout", "1", "--slices", "4", "--window", "2")
    assert done.returncode == 4
    lines = [line for line in done.stderr.splitlines() if line.startswith("dpbench: ")]
    # The messages that follow in the same lane take the place of the lost one: the last one is missing.
    assert len(lines) == 1
    assert lines[0].startswith("dpbench: rank 2 on ")
    assert ": ring 4 KiB, iteration 4: slice 3 of 4, round 6 (all-gather) waits for rank 1 to send; no pro" in lines[0]


def test_a_rank_that_is_slow_but_moves_is_no_stall() -> None:
    done = job("delay@1:ring:3=0.7,delay@2:ring:4=0.7", "--timeout", "1", "-s", "ring")
    assert done.returncode == 0, done.stderr


def test_hosts_that_tests_make_up_are_nodes() -> None:
    done = mpirun(4, *DPBENCH, *QUICK, "-s", "ring", "--csv", "-", "--calibrate", "0",
                  env={"DPBENCH_TEST_HOOKS": "node@0=a,node@1=a,node@2=b,node@last=b"})  # fmt: skip
    assert {row["nodes"] for row in rows_of(done.stdout)} == {"2"}


def test_a_clock_that_is_hours_off_on_one_rank_changes_no_time() -> None:
    done = mpirun(2, *DPBENCH, *QUICK, "-s", "ring", "--csv", "-", env={"DPBENCH_TEST_HOOKS": "clock@1=10800"})
    assert all(0 < float(row["time_max_s"]) < 60 for row in rows_of(done.stdout))


@contextmanager
def sweep(file: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A job that has finished its first size, with the mark of its processes."""
    command, environ = launcher()
    mark = uuid.uuid4().hex
    with subprocess.Popen(
        [*command, "-n", "4", sys.executable, *DPBENCH, *LONG, "--csv", str(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**environ, MARK: mark, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    ) as process:
        try:
            deadline = time.monotonic() + 40
            while not (file.exists() and file.read_text().count("\n") >= 3):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield process, f"{MARK}={mark}"
        finally:
            end_all(process.pid, f"{MARK}={mark}")


def stopped(process: subprocess.Popen[str], mark: str) -> float:
    """Return after how many seconds no process of the job was left."""
    begin = time.monotonic()
    process.wait(20)
    while any(survivors(process.pid, mark)):
        assert time.monotonic() - begin < 20
        time.sleep(0.02)
    return time.monotonic() - begin


def measured(file: Path) -> list[Row]:
    return [row for row in rows_of(file.read_text()) if row["quality"] != "skipped"]


def test_ctrl_c_keeps_the_rows_and_leaves_nobody(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with sweep(file) as (process, mark):
        process.send_signal(signal.SIGINT)
        assert stopped(process, mark) < 5
    assert process.returncode in (130, 1)  # Open MPI's mpirun gives its own
    assert {row["bytes"] for row in measured(file)} >= {"4096"}


def test_a_signal_to_one_rank_stops_all_together_and_marks_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with sweep(file) as (process, mark):
        there = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in survivors(-1, mark)}
        rank = next(pid for pid, program in there.items() if program.startswith(sys.executable))
        os.kill(rank, signal.SIGTERM)
        assert stopped(process, mark) < 5
    assert process.returncode == 143
    assert {row["bytes"] for row in measured(file)} >= {"4096"}
    missing = [row for row in rows_of(file.read_text()) if row["quality"] == "skipped"]
    assert {row["reason"] for row in missing} == {"stopped by SIGTERM"}
    assert len(rows_of(file.read_text())) == 6


def test_a_signal_to_any_rank_during_long_exchanges_marks_what_is_missing_too(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    args = ("-s", "ring", "--sizes", "4K,64K", "-n", "1", "-w", "5", "-q", "--csv", str(file))
    env = {"DPBENCH_TEST_HOOKS": "kill@2:ring:9=15,delay@1:ring:9=8", "PYTHONPATH": str(ROOT)}
    done = mpirun(3, *DPBENCH, *args, env=env)
    assert done.returncode == 143
    rows = [(row["bytes"], row["quality"], row["reason"]) for row in rows_of(file.read_text())]
    assert [row[0] for row in rows] == ["4096", "65536"]
    assert rows[1] == ("65536", "skipped", "stopped by SIGTERM")
