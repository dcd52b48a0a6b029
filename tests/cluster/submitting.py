"""Submitting the scripts of `jobs/` as users do, and reading what they leave."""

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from slurm import Job, Slurm

from dpbench.engine.library import bound_library

ROOT = Path(__file__).parents[2]
JOBS = ROOT / "jobs"
STRATEGIES = {"ps", "sharded-ps", "ring", "mpi"}
QUICK = ("--iters", "2", "--warmup", "1", "--quiet")
MPIRUN = {"LAUNCHER": "mpirun"}
SRUN = {"LAUNCHER": "srun", "SRUN_MPI": "pmix" if bound_library().is_open_mpi else "pmi2"}
# Open MPI 5 under srun: now and then a message arrives before MPI_Init is ready for it. A known fault, not ours.
CRASH, TRIES = "mca_pml_ob1_recv_frag_callback_match", 4
ONE_NODE = ("--nodes=1", "--ntasks-per-node=2")


def script(name: str) -> str:
    """Return the path of a batch script."""
    return str(JOBS / f"{name}.sbatch")


class Desk:
    """Where a user submits: a folder, in which logs and results appear, and an environment with this dpbench."""

    def __init__(self, slurm: Slurm, folder: Path) -> None:
        self.slurm, self.folder = slurm, folder
        folder.mkdir()

    def submit(self, *command: str, cwd: Path | None = None, **env: str) -> str:
        """Submit a job and return its number."""
        own = {"DPBENCH_VENV": sys.prefix, "DPBENCH_JOBS": str(JOBS), "PYTHONPATH": str(ROOT)}
        output = f"--output={self.folder / 'job-%j.log'}"
        return self.slurm.submit(output, *command, cwd=cwd or self.folder, env=own | {"RESULTS": self.results} | env)

    def wait(self, number: str, timeout: float = 120) -> Job:
        """Return how a job ended."""
        return self.slurm.wait(number, self.folder / f"job-{number}.log", timeout)

    def said(self, number: str) -> str:
        """Return what Slurm says of a job, and its log."""
        log = self.folder / f"job-{number}.log"
        return f"{self.slurm.facts(number)}\n{log.read_text() if log.exists() else '(no output)'}"

    def run(self, *command: str, cwd: Path | None = None, **env: str) -> Job:
        """Submit a job and return how it ended; once more if Open MPI's start was its end."""
        for _ in range(TRIES):
            job = self.wait(self.submit(*command, cwd=cwd, **env))
            if CRASH not in job.output:
                break
        return job

    @property
    def results(self) -> str:
        """The folder for the jobs' folders."""
        return str(self.folder / "the results")

    def of(self, number: str) -> Path:
        """Return a job's own folder."""
        (folder,) = Path(self.results).glob(f"*-{number}")
        return folder

    def rows(self, job: Job | str) -> list[dict[str, str]]:
        """Return the rows that a job has left."""
        return rows(self.of(job if isinstance(job, str) else job.number))

    def document(self, number: str) -> Any:
        """Return the JSON document that a job has left."""
        return json.loads((self.of(number) / "rows.json").read_text())


def rows(folder: Path) -> list[dict[str, str]]:
    """Return the rows of a job's folder."""
    with (folder / "rows.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def own_jobs(folder: Path, *command: str, site: str = "") -> str:
    """Return a copy of jobs/ whose site.sh was edited: each rank runs these lines of a shell script."""
    shutil.copytree(JOBS, folder)
    with (folder / "site.sh").open("a") as file:
        file.write(f'dpbench=(bash "$jobs/command")\n{site}\n')
    (folder / "command").write_text("\n".join(["[[ $1 != env ]] || exit 0", *command]) + "\n")
    return str(folder)
