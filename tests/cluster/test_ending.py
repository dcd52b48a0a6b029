"""Jobs that are ended before they are done keep what they have measured, on a real Slurm."""

import pytest
from slurm import UNFINISHED, until
from submitting import MPIRUN, ONE_NODE, SRUN, Desk, script

# The habits of nccl-tests: hours, here.
LONG = (*ONE_NODE, script("sweep"), "-b", "8", "-e", "16G", "-f", "2", "-n", "100", "-c", "1", "-g", "1")


@pytest.fixture(scope="module")
def desk(slurm, tmp_path_factory):
    return Desk(slurm, tmp_path_factory.mktemp("ending") / "some where")


@pytest.fixture(scope="module", autouse=True)
def limited(desk):
    """A job that will run out of time: of its minute Slurm, which looks every 30 s, leaves it 18 to 48 s.

    It hardly computes, for other jobs run beside it.
    """
    late = ("-s", "ps", "-n", "10", "-w", "0", "--straggler", "1:200ms")
    return desk.submit("--time=1", "--signal=B:USR1@12", *LONG, *late, **MPIRUN)


def measured(desk, number):
    """Return how many rows a job has written, which must not have ended."""
    assert desk.slurm.facts(number)["JobState"] in UNFINISHED, desk.said(number)
    try:
        return len(desk.rows(number))
    except (ValueError, OSError):  # it has no folder yet, or no file
        return 0


def kept(desk, number):
    """Return the rows that a job had measured, after those that it had not; all are listed."""
    found = desk.rows(number)
    done = [row for row in found if row["quality"] != "skipped"]
    assert {row["wrong_elements"] for row in done} == {"0"}
    assert [row["bytes"] for row in done] == sorted((row["bytes"] for row in done), key=int)
    assert desk.document(number)["complete"] is False
    return done, found[len(done) :]


def ended(desk, number, *how):
    """Cancel a job when it has measured two sizes, and return how it ended."""
    until(lambda: measured(desk, number) >= 8, 120, lambda: desk.said(number))
    desk.slurm.client("scancel", *how, number)
    return desk.wait(number)


@pytest.mark.parametrize(
    ("how", "name", "state"),
    [(["--batch", "--signal=USR1"], "SIGUSR1", "FAILED"), ([], "SIGTERM", "CANCELLED")],
    ids=["warned", "cancelled"],
)
def test_a_job_that_is_told_to_end_keeps_its_rows_and_lists_what_is_missing(desk, how, name, state):
    job = ended(desk, desk.submit(*LONG, **SRUN), *how)
    assert job.state == state, job.output
    done, missing = kept(desk, job.number)
    assert len(done) >= 8
    assert {row["reason"] for row in missing} == {f"stopped by {name}"}
    assert len(done) + len(missing) == 32 * 4
    assert f"incomplete: stopped by {name}" in " ".join(job.output.split())


def test_a_cancelled_job_keeps_its_rows_though_mpirun_ends_its_ranks_at_once(desk):
    job = ended(desk, desk.submit(*LONG, **MPIRUN))
    assert job.state == "CANCELLED", job.output
    assert len(kept(desk, job.number)[0]) >= 8


def test_a_job_that_runs_out_of_time_is_warned_and_keeps_its_rows(desk, limited):
    job = desk.wait(limited)
    assert (job.state, job.code) == ("FAILED", 138), job.output
    done, missing = kept(desk, limited)
    assert done
    assert {row["reason"] for row in missing} == {"stopped by SIGUSR1"}
