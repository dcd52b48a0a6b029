"""Jobs that are ended before they are done keep what they have measured, on a real Slurm."""

import pytest
from slurm import until
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
    """Return how many rows a job has written."""
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


@pytest.mark.parametrize(
    ("how", "name", "state"),
    [(["--batch", "--signal=USR1"], "SIGUSR1", "FAILED"), ([], "SIGTERM", "CANCELLED")],
    ids=["warned", "cancelled"],
)
def test_a_job_that_is_told_to_end_keeps_its_rows(desk, how, name, state):
    numbers = [desk.submit(*LONG, **start) for start in (SRUN, MPIRUN)]
    until(lambda: all(measured(desk, number) >= 8 for number in numbers), 60, lambda: "no rows")
    for number in numbers:
        desk.slurm.client("scancel", *how, number)
    by_srun, by_mpirun = (desk.wait(number) for number in numbers)
    assert by_srun.state == by_mpirun.state == state, by_srun.output + by_mpirun.output
    for job in (by_srun, by_mpirun):
        done, missing = kept(desk, job.number)
        assert len(done) >= 8
        if job is by_mpirun and state == "CANCELLED":  # which may end the ranks itself, at once
            continue
        assert {row["reason"] for row in missing} == {f"stopped by {name}"}
        assert len(done) + len(missing) == 32 * 4
        assert f"incomplete: stopped by {name}" in " ".join(job.output.split())


def test_a_job_that_runs_out_of_time_is_warned_and_keeps_its_rows(desk, limited):
    job = desk.wait(limited)
    assert (job.state, job.code) == ("FAILED", 138), job.output
    done, missing = kept(desk, limited)
    assert done
    assert {row["reason"] for row in missing} == {"stopped by SIGUSR1"}
