"""What can be said of the job scripts without submitting them."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from slurm import INSTALL
from submitting import own_jobs

JOBS = Path(__file__).parents[2] / "jobs"
README = (JOBS / "README.md").read_text()
BATCH = sorted(JOBS.glob("*.sbatch"))
SHELL = sorted([*BATCH, *JOBS.glob("*.sh")])
# Options of sbatch that take a value, by what the value looks like; None: there is no value.
OPTIONS = {
    "job-name": r"[\w-]+",
    "nodes": r"\d+",
    "ntasks-per-node": r"\d+",
    "cpus-per-task": r"\d+",
    "gpus-per-node": r"\d+",
    "time": r"(\d+-)?\d\d:\d\d:\d\d",
    "output": r"[\w%.-]+",  # no folder: a missing one makes Slurm drop the job without a word
    "signal": r"B:\w+@\d+",
    "exclusive": None,
    "no-requeue": None,
}
REQUIRED = {"job-name", "nodes", "ntasks-per-node", "exclusive", "time", "signal", "output", "no-requeue"}
ANYWAY = {"HOME", "PATH", "PWD", "BASH_SOURCE"}  # variables that every shell has

every_batch_script = pytest.mark.parametrize("script", BATCH, ids=lambda path: path.name)


def directives(script):
    return [line.removeprefix("#SBATCH") for line in script.read_text().splitlines() if line.startswith("#SBATCH")]


@every_batch_script
def test_every_directive_is_an_option_that_slurm_knows(script):
    given = []
    for directive in directives(script):
        [word] = shlex.split(directive)
        name, equals, value = word.removeprefix("--").partition("=")
        assert word.startswith("--"), word
        pattern = OPTIONS[name]
        assert re.fullmatch(pattern, value) if pattern else not equals, word
        given.append(name)
    assert len(set(given)) == len(given)
    assert set(given) >= REQUIRED
    assert f"#SBATCH --job-name=dpbench-{script.stem}\n" in script.read_text()


@every_batch_script
def test_directives_stand_before_the_first_command_where_slurm_reads_them(script):
    lines = script.read_text().splitlines()
    assert lines[0].startswith("#!")
    commands = [number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    assert all(number < commands[0] for number, line in enumerate(lines) if "#SBATCH" in line)


def test_all_find_the_other_files_with_the_same_lines():
    first, last = "# sbatch runs a copy", '. "$jobs/launch.sh"\n'
    assert len({path.read_text().partition(first)[2].partition(last)[0] for path in BATCH}) == 1


@every_batch_script
def test_slurm_accepts_the_directives(slurm, script):
    answer = slurm.client("sbatch", "--test-only", str(script))
    assert answer.returncode == 0, answer.stderr


def test_shellcheck_finds_nothing():
    assert shutil.which("shellcheck"), f"shellcheck is not installed; {INSTALL}"
    command = ["shellcheck", "--external-sources", *(str(path.relative_to(JOBS.parent)) for path in SHELL)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=JOBS.parent)
    assert answer.stdout + answer.stderr == ""


def test_a_rank_that_is_told_to_end_may_finish_what_it_does(tmp_path):
    command = "trap 'exit 5' TERM; kill -TERM $PPID $$; sleep 60"
    rank = subprocess.run(["bash", str(JOBS / "rank.sh"), str(tmp_path / "failed"), "bash", "-c", command], check=False)
    assert rank.returncode == 5
    assert (tmp_path / "failed").read_text() == "5\n"


def test_without_site_sh_nothing_is_run_or_written(tmp_path):
    shutil.copytree(JOBS, tmp_path / "the jobs", ignore=shutil.ignore_patterns("site.sh"))
    command = ["bash", str(tmp_path / "the jobs" / "local.sh")]
    job = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (job.returncode, job.stdout) == (3, "")
    assert job.stderr.startswith(f"dpbench job: no site.sh in '{tmp_path / 'the jobs'}': copy it there")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("typed", ["4K,1M", "4K 1M", "4K, 1M", " 4K  1M "])
def test_values_have_commas_or_blanks_or_both_between_them(tmp_path, typed):
    jobs = own_jobs(tmp_path / "jobs", 'printf "<%s>" "$@"')
    env = os.environ | {"SIZES": typed, "STRATEGIES": "ring, ps", "DPBENCH_VENV": sys.prefix}
    command = ["bash", f"{jobs}/local.sh"]
    job = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "<--sizes><4K,1M><--strategy><ring,ps>" in job.stdout


def as_job(jobs, *without):
    """Return an environment in which a script believes to be a job of Slurm."""
    slurm = {"SLURM_JOB_ID": "1", "SLURM_JOB_NAME": "job", "SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "n[1-2]"}
    own = {"DPBENCH_JOBS": jobs, "DPBENCH_VENV": sys.prefix}
    return {name: value for name, value in (os.environ | slurm | own).items() if name not in without}


def test_without_a_number_of_ranks_nothing_is_run(tmp_path):
    jobs = own_jobs(tmp_path / "jobs", "exit 0")
    command, env = ["bash", f"{jobs}/smoke.sbatch"], as_job(jobs, "SLURM_NTASKS")
    job = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (job.returncode, job.stderr.split(";")[0]) == (3, "dpbench job: Slurm gives no number of ranks")


def test_a_warning_that_comes_before_the_measurement_is_told(tmp_path):
    jobs = own_jobs(tmp_path / "jobs", "exit 0", site="echo here; sleep 0.5")
    with subprocess.Popen(
        ["bash", f"{jobs}/smoke.sbatch"],
        env=as_job(jobs),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as job:
        assert job.stdout.readline() == "here\n"
        job.send_signal(signal.SIGUSR1)
        out, err = job.communicate(timeout=20)
    assert (job.returncode, out) == (138, "")
    assert err.startswith("dpbench job: stopped before anything was measured;")


def test_the_readme_names_every_variable_that_the_scripts_read():
    code = "\n".join(path.read_text() for path in SHELL)
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", code))
    missing = [name for name in read if not name.startswith("SLURM_") and name not in README]
    assert set(missing) <= ANYWAY
    assert [path.name for path in SHELL if f"`{path.name}`" not in README] == ["launch.sh", "rank.sh"]
