"""A rank that is late to every exchange: everybody waits for it, whatever the strategy."""

import pytest
from launcher import mpirun

from jobs import DPBENCH, rows_of

RUN = (*DPBENCH, "--sizes", "4K", "-n", "6", "-w", "1", "-q", "--csv", "-")


@pytest.mark.parametrize("late", [0, 2])
def test_all_wait_for_the_rank_that_is_late(late: int) -> None:
    rows = rows_of(mpirun(3, *RUN, "--straggler", f"{late}:40ms").stdout)
    assert [row["wrong_elements"] for row in rows] == ["0"] * 4
    assert all(0.04 <= float(row["time_min_s"]) < 0.4 for row in rows)


def test_a_rank_that_does_not_exist_cannot_be_late() -> None:
    job = mpirun(3, *RUN, "--straggler", "3:40ms")
    assert job.returncode == 2
    assert job.stderr.count("--straggler 3: there is no such rank; they are 0 to 2") == 1


@pytest.mark.parametrize("typed", ["1", "1:", "x:1ms", "1:20", "-1:1s"])
def test_a_malformed_straggler_is_one_message(typed: str) -> None:
    job = mpirun(1, *RUN, f"--straggler={typed}")
    assert (job.returncode, job.stderr.count("dpbench: ")) == (2, 1)


def test_being_late_is_a_phase_of_its_own() -> None:
    job = mpirun(3, *RUN, "--straggler", "2:40ms", "--phases", "--textbook")
    found = {(row["strategy"], row["operation"]): float(row["time_median_s"]) for row in rows_of(job.stdout)}
    for strategy in {name for name, _ in found}:
        if strategy != "mpi":
            assert found[strategy, "late"] >= 0.04
            assert found[strategy, "allreduce"] < found[strategy, "late"] + 0.03
