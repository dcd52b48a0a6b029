"""`jobs/sweep.sbatch` as users submit it, on a real Slurm."""

import csv
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from dpbench.engine.library import bound_library

ROOT = Path(__file__).parents[2]
JOBS = ROOT / "jobs"
SWEEP = str(JOBS / "sweep.sbatch")
STRATEGIES = {"ps", "sharded-ps", "ring", "mpi"}
QUICK = ("--iters", "2", "--warmup", "1", "--quiet")
MPIRUN = {"LAUNCHER": "mpirun"}
SRUN = {"LAUNCHER": "srun", "SRUN_MPI": "pmix" if bound_library().is_open_mpi else "pmi2"}

both_launchers = pytest.mark.parametrize("start", [MPIRUN, SRUN], ids=["mpirun", "srun"])


@pytest.fixture
def results(tmp_path):
    return tmp_path / "a folder"


@pytest.fixture
def submit(slurm, tmp_path, results):
    """Submits the sweep with this Python's dpbench."""

    def run(*command, cwd=ROOT, **env):
        log = tmp_path / "log"
        own = {"DPBENCH_VENV": sys.prefix, "PYTHONPATH": str(ROOT), "RESULTS": str(results)}
        return slurm.run(f"--output={log}", *command, log=log, cwd=cwd, env={**own, **env})

    return run


def rows(folder):
    with (folder / "sweep.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def jobs_for(folder, *command, site=""):
    """Return a copy of jobs/ whose site.sh was edited: each rank runs these lines of a shell script."""
    shutil.copytree(JOBS, folder)
    with (folder / "site.sh").open("a") as file:
        file.write(f'dpbench=(bash "$jobs/command")\n{site}\n')
    (folder / "command").write_text("\n".join(["[[ $1 != --version ]] || exit 0", *command]) + "\n")
    return str(folder)


@both_launchers
def test_every_strategy_is_measured_on_all_ranks(submit, results, start):
    job = submit(SWEEP, *QUICK, SIZES="0,4K,100000", **start)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    found = rows(results)
    assert {row["ranks"] for row in found} == {"2"}
    assert {row["wrong_elements"] for row in found} == {"0"}
    expected = {(strategy, size) for strategy in STRATEGIES for size in ("0", "4096", "100000")}
    assert Counter((row["strategy"], row["bytes"]) for row in found) == Counter(expected)


@both_launchers
def test_the_exit_code_of_dpbench_is_the_jobs(submit, start):
    job = submit(SWEEP, "--iters", "many", **start)
    assert (job.state, job.code) == ("FAILED", 2), job.output
    assert job.output.count("many") == 1


def test_under_srun_the_first_rank_that_fails_decides_the_exit_code(submit, tmp_path):
    own = jobs_for(tmp_path / "own", "sleep $((20 * SLURM_PROCID))", "exit 7")
    job = submit(SWEEP, DPBENCH_JOBS=own, LAUNCHER="srun")
    assert (job.state, job.code) == ("FAILED", 7), job.output


def test_srun_gives_every_rank_the_cores_the_job_asked_for(submit, tmp_path):
    own = jobs_for(tmp_path / "own", "scontrol --oneliner show step $SLURM_JOB_ID.$SLURM_STEP_ID")
    job = submit("--cpus-per-task=3", SWEEP, DPBENCH_JOBS=own, LAUNCHER="srun")
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    assert job.output.count(" CPUs=6 ") == 2


def test_what_site_sh_exports_reaches_the_ranks_whatever_was_exported_at_submission(submit, tmp_path):
    own = jobs_for(tmp_path / "own", "[[ $NETWORK == fast ]]", site="export NETWORK=fast LAUNCHER=srun")
    job = submit("--export=NONE", f"{own}/sweep.sbatch", cwd=own)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output


def test_values_can_be_given_at_submission(submit, results):
    given = "--export=ALL,SIZES=8 16,STRATEGIES=ring ps,DTYPE=float64"
    job = submit(given, "--nodes=3", SWEEP, *QUICK)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    found = rows(results)
    assert {(row["strategy"], row["bytes"]) for row in found} == {(s, b) for s in ("ring", "ps") for b in ("8", "16")}
    assert {(row["ranks"], row["dtype"]) for row in found} == {("3", "float64")}


def test_it_can_be_submitted_from_its_own_folder(submit, results):
    job = submit("sweep.sbatch", *QUICK, cwd=JOBS, SIZES="4K")
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    assert {row["strategy"] for row in rows(results)} == STRATEGIES


def test_it_can_be_submitted_from_elsewhere_and_blanks_in_paths_do_no_harm(slurm, tmp_path):
    elsewhere = tmp_path / "some where"
    elsewhere.mkdir()
    env = {"DPBENCH_JOBS": str(tmp_path / "my jobs"), "DPBENCH_VENV": str(tmp_path / "my venv")}
    (tmp_path / "my jobs").symlink_to(JOBS)
    (tmp_path / "my venv").symlink_to(sys.prefix)
    env |= {"PYTHONPATH": str(ROOT), "SIZES": "4K"} | SRUN
    job = slurm.run("-J", "a", SWEEP, *QUICK, log=elsewhere / "a-{}.log", cwd=elsewhere, env=env)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    assert {row["strategy"] for row in rows(elsewhere / "results" / f"dpbench-{job.number}")} == STRATEGIES


@pytest.mark.parametrize(
    ("env", "remedy"),
    [
        ({}, "set DPBENCH_JOBS"),
        ({"DPBENCH_JOBS": "nowhere"}, "set DPBENCH_JOBS"),
        ({"DPBENCH_JOBS": str(JOBS), "DPBENCH_VENV": "nowhere"}, "DPBENCH_VENV"),
        ({"DPBENCH_JOBS": str(JOBS), "PYTHONPATH": "", "DPBENCH_VENV": "/usr"}, "site.sh"),
        ({"DPBENCH_JOBS": str(JOBS), "RESULTS": "/proc/results"}, "set RESULTS"),
        ({"DPBENCH_JOBS": str(JOBS), "LAUNCHER": "magic"}, "neither srun nor mpirun"),
    ],
    ids=["no jobs", "wrong jobs", "no venv", "no dpbench", "no folder", "no launcher"],
)
def test_what_is_missing_is_named_with_the_remedy(submit, tmp_path, env, remedy):
    job = submit(SWEEP, cwd=tmp_path, **env)
    assert (job.state, job.code) == ("FAILED", 3), job.output
    assert remedy in job.output
