"""What is no failure of one rank alone: ranks that are no job, and a size that the memory cannot hold."""

import sys

from launcher import launcher, mpirun, run


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

