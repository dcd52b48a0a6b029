"""Whether the MPI library takes device pointers: asked before any is handed to it, for a wrong guess crashes.

Three signs, the first that speaks decides: the library's own word (a yes is enough, a no is not the end: Open MPI
says no with a UCX that can); UCX with CUDA loaded, in a set-up that uses it for everything; a trial, in a process of
its own, that sends device memory to itself.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Trial = Literal["works", "crashed", "failed", "not tried"]

PATIENCE_S = 20
PML = "OMPI_MCA_pml"  # Open MPI's mpirun sets it in every rank
LAUNCHERS = ("PMI", "PMIX", "OMPI_COMM", "PRTE", "HYD", "MPI_LOCAL")  # whoever has these is taken for a rank
CUDA = 0  # MPIX_GPU_SUPPORT_CUDA


@dataclass(frozen=True)
class Awareness:
    """The answer, why, and whether the library itself said yes: only then its collectives can be trusted too."""

    aware: bool
    why: str
    by_query: bool = False


def trial(command: tuple[str, ...] = (sys.executable, "-m", "dpbench.engine.trial")) -> Trial:
    """Return what comes of sending device memory to oneself, in a child that may crash.

    To be called before MPI is started here: a child of an MPI process is not safe on every network.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    try:
        answer = subprocess.run(command, env=environ, capture_output=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "failed"
    if answer.returncode < 0 or answer.returncode > 128:
        return "crashed"
    return "works" if answer.returncode == 0 else "failed"


def query() -> bool | None:
    """Return what the loaded MPI library says of itself; None if it cannot be asked."""
    for path in mapped("libmpi"):
        library = ctypes.CDLL(path)  # the very library that is loaded: the global name space does not show it
        if hasattr(library, "MPIX_Query_cuda_support"):
            return bool(library.MPIX_Query_cuda_support())
        if hasattr(library, "MPIX_GPU_query_support"):
            answer = ctypes.c_int(0)
            library.MPIX_GPU_query_support(CUDA, ctypes.byref(answer))
            return bool(answer.value)
    return None


def ucx_with_cuda(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether UCX's CUDA transports are loaded, and UCX carries every message."""
    open_mpi = environ.get(PML) == "ucx"
    mpich = environ.get("MPIR_CVAR_CH4_NETMOD") == "ucx" and environ.get("MPIR_CVAR_NOLOCAL") == "1"
    return (open_mpi or mpich) and bool(mapped("libuct_cuda"))


def mapped(name: str) -> list[str]:
    """Return the paths of the libraries in this process whose file names begin with `name`."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    paths = dict.fromkeys(line.split(None, 5)[5] for line in lines if len(line.split(None, 5)) == 6)
    return [path for path in paths if Path(path).name.startswith(name)]


def awareness(asked: str, said: bool | None, ucx: bool, tried: Trial) -> Awareness:
    """Return the verdict; `asked` is `--gpu-aware`: auto, yes or no."""
    if asked != "auto":
        return Awareness(asked == "yes", f"--gpu-aware {asked}", by_query=bool(said) and asked == "yes")
    if said:
        return Awareness(True, "the MPI library says so", by_query=True)
    if ucx:
        return Awareness(True, "UCX with CUDA carries every message")
    if tried == "works":
        return Awareness(True, "a trial message from GPU memory arrived")
    word = {True: "yes", False: "no", None: "does not know"}[said]
    why = f"asked, it says: {word}; trial message from GPU memory: {tried}"
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        why += f"; {PML}: {os.environ.get(PML, 'unset')}"
    return Awareness(False, why)
