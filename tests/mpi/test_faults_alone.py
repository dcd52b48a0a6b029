"""One rank fails alone: the others do not wait for it, and the exit code tells what it was."""

import sys
import time

import pytest
from launcher import launcher, mpirun, run

from jobs import HERE, ROOT


@pytest.mark.parametrize(
    ("kind", "code", "said"),
    [
        ("bug", 4, "RuntimeError: planted"),
        ("memory", 4, "MemoryError: planted"),
        ("platform", 3, "dpbench: planted"),
        ("disk", 3, "No space left on device"),
        ("interrupt", 130, ""),
    ],
)
def test_the_job_ends_at_once_with_the_code_of_the_rank_that_failed(kind: str, code: int, said: str) -> None:
    begin = time.monotonic()
    script = str(HERE / "programs" / "fault.py")  # not by `-m mpi4py`, which would end the others itself
    job = mpirun(3, script, kind, "--sizes", "4K", "-n", "5", env={"PYTHONPATH": str(ROOT)}, timeout=30)
    assert time.monotonic() - begin < 15
    assert job.returncode == code
    assert said in job.stderr


def test_a_rank_that_is_alone_though_several_were_started_stops() -> None:
    _, environ = launcher()
    told = {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}
    job = run([sys.executable, "-m", "dpbench", "run", "--sizes", "8", "--csv", "-"], environ | told, timeout=30)
    assert (job.returncode, job.stdout) == (3, "")
    assert "started 4 ranks, but each is alone, a job of 1 rank" in job.stderr
    assert "--mpi=" in job.stderr


def test_a_size_that_the_memory_cannot_hold_is_skipped_and_the_others_are_measured() -> None:
    job = mpirun(2, "-m", "dpbench", "run", "--sizes", "4K,64T", "-s", "ring", "-n", "3")
    assert job.returncode == 0, job.stderr
    assert "skipped: " in job.stdout
    assert "of memory left, but the 2 ranks there need" in " ".join(job.stdout.split())

