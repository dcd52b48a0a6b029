"""How every job starts, on a real Slurm: with mpirun and srun, from anywhere, or not at all and with the remedy."""

from collections import Counter

import pytest
from submitting import JOBS, MPIRUN, QUICK, ROOT, SRUN, STRATEGIES, own_jobs, rows, script

SWEEP = script("sweep")

both_launchers = pytest.mark.parametrize("start", [MPIRUN, SRUN], ids=["mpirun", "srun"])


@both_launchers
def test_every_strategy_is_measured_on_all_ranks(desk, start):
    job = desk.run(SWEEP, *QUICK, SIZES="0,4K,100000", **start)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    found = desk.rows(job)
    assert {row["ranks"] for row in found} == {"2"}
    assert {row["wrong_elements"] for row in found} == {"0"}
    expected = {(strategy, size) for strategy in STRATEGIES for size in ("0", "4096", "100000")}
    assert Counter((row["strategy"], row["bytes"]) for row in found) == Counter(expected)
    assert not list(desk.of(job.number).glob("failed"))


@both_launchers
def test_the_exit_code_of_dpbench_is_the_jobs(desk, start):
    job = desk.run(SWEEP, "--iters", "many", **start)
    assert (job.state, job.code) == ("FAILED", 2), job.output
    assert job.output.count("many") == 1


def test_under_srun_the_first_rank_that_fails_decides_the_exit_code(desk, tmp_path):
    own = own_jobs(tmp_path / "own", "sleep $((20 * SLURM_PROCID))", "exit 7")
    job = desk.run(SWEEP, DPBENCH_JOBS=own, LAUNCHER="srun")
    assert (job.state, job.code) == ("FAILED", 7), job.output


def test_srun_gives_every_rank_the_cores_the_job_asked_for(desk, tmp_path):
    own = own_jobs(tmp_path / "own", "scontrol --oneliner show step $SLURM_JOB_ID.$SLURM_STEP_ID")
    job = desk.run("--cpus-per-task=3", SWEEP, DPBENCH_JOBS=own, LAUNCHER="srun")
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    assert job.output.count(" CPUs=6 ") == 2


def test_what_site_sh_exports_reaches_the_ranks_whatever_was_exported_at_submission(desk, tmp_path):
    own = own_jobs(tmp_path / "own", "[[ $NETWORK == fast ]]", site="export NETWORK=fast LAUNCHER=srun")
    job = desk.run("--export=NONE", f"{own}/sweep.sbatch", cwd=tmp_path / "own")
    assert (job.state, job.code) == ("COMPLETED", 0), job.output


def test_values_can_be_given_at_submission(desk):
    given = "--export=ALL,SIZES=8 16,STRATEGIES=ring ps,DTYPE=float64"
    job = desk.run(given, "--nodes=3", SWEEP, *QUICK)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    found = desk.rows(job)
    assert {(row["strategy"], row["bytes"]) for row in found} == {(s, b) for s in ("ring", "ps") for b in ("8", "16")}
    assert {(row["ranks"], row["dtype"]) for row in found} == {("3", "float64")}


def test_it_can_be_submitted_from_its_own_folder(desk):
    job = desk.run("sweep.sbatch", *QUICK, cwd=JOBS, SIZES="4K", DPBENCH_JOBS="", **SRUN)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    assert {row["strategy"] for row in desk.rows(job)} == STRATEGIES


def test_it_can_be_submitted_from_elsewhere_and_blanks_in_paths_do_no_harm(desk, tmp_path):
    (tmp_path / "my jobs").symlink_to(JOBS)
    job = desk.run("-J", "a", SWEEP, *QUICK, DPBENCH_JOBS=str(tmp_path / "my jobs"), RESULTS="", SIZES="4K", **SRUN)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    assert {row["strategy"] for row in rows(desk.folder / "results" / f"a-{job.number}")} == STRATEGIES


def test_what_is_missing_is_named_with_the_remedy(desk):
    remedies = {
        "set DPBENCH_JOBS": {"DPBENCH_JOBS": ""},
        "no launch.sh in 'nowhere': submit from": {"DPBENCH_JOBS": "nowhere"},
        "DPBENCH_VENV='nowhere' is not there": {"DPBENCH_VENV": "nowhere"},
        "site.sh": {"PYTHONPATH": "", "DPBENCH_VENV": "/usr"},
        "set RESULTS": {"RESULTS": "/proc/results"},
        "neither srun nor mpirun": {"LAUNCHER": "magic"},
    }
    numbers = {words: desk.submit("--nodes=1", SWEEP, **env) for words, env in remedies.items()}
    for words, number in numbers.items():
        job = desk.wait(number)
        assert (job.state, job.code) == ("FAILED", 3), job.output
        assert words in job.output


def test_without_slurm_a_batch_script_says_how_to_submit_it(desk):
    job = desk.slurm.client("bash", SWEEP, cwd=ROOT, env={"DPBENCH_JOBS": str(JOBS)})
    assert (job.returncode, job.stdout) == (3, "")
    assert "submit the script with sbatch" in job.stderr
