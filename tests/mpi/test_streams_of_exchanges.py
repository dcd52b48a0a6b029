"""Exchanges back to back on real ranks: measured, checked, and ended where they stand still, like single ones."""

import re
import time

from launcher import Finished, mpirun

from jobs import DPBENCH, rows_of


def streamed(*args: str, fault: str = "") -> Finished:
    return mpirun(2, *DPBENCH, "--cadence", "streaming", *args, "--csv", "-", env={"DPBENCH_TEST_HOOKS": fault})


def test_a_stream_is_checked_and_its_time_is_that_of_one_exchange() -> None:
    late = ("--straggler", "1:20ms")  # a tenth of --max-time holds 10 of them
    rows = rows_of(streamed("--sizes", "0,64K", "-n", "2", "-w", "1", *late).stdout)
    assert [row["strategy"] for row in rows] == ["ps", "sharded-ps", "ring", "mpi-out"] * 2
    assert {(row["cadence"], row["wrong_elements"]) for row in rows} == {("streaming", "0")}
    assert all(0.020 <= float(row["time_median_s"]) < 0.100 for row in rows)


def test_a_wrong_sum_at_the_end_of_a_stream_voids_the_row() -> None:
    job = streamed("-s", "ps,ring", "--sizes", "4K", "-n", "3", "-w", "1", fault="corrupt@1:ring:10")
    assert job.returncode == 1
    assert [(row["strategy"], row["quality"], row["wrong_elements"]) for row in rows_of(job.stdout)] == [
        ("ps", "warn", "0"),
        ("ring", "invalid", "1"),
    ]


def test_a_stream_that_stands_still_is_ended_and_told_of() -> None:
    job = streamed("-s", "ring", "--sizes", "4K", "-n", "3", "-w", "1", "--timeout", "1", fault="drop@1:ring:10")
    (planted,) = re.findall(r"^planted drop at ([\d.]+)$", job.stderr, re.MULTILINE)
    assert time.time() - float(planted) < 10 + 1
    assert job.returncode == 4
    assert "no progress for" in job.stderr
    assert "waits for rank 1" in job.stderr
