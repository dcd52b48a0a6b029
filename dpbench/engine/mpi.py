"""Loading and starting MPI, in the one place where its thread level is asked for and its launcher is doubted.

mpi4py would ask for MPI_THREAD_MULTIPLE, whose locks triple the cost of a small message; dpbench calls MPI from
the main thread only.
"""

import warnings
from typing import Any

from dpbench.engine.library import INSTALL
from dpbench.environment import ill_launched, in_slurm_step, launched, size_hint
from dpbench.errors import NoLibrary, PlatformError

try:
    import mpi4py

    mpi4py.rc.initialize = False  # what cannot be started here may end the process: first see what it is
    mpi4py.rc.finalize = True

    from mpi4py import MPI
except ModuleNotFoundError as error:
    raise NoLibrary(f"mpi4py is not installed ({error}): pip install mpi4py") from error
except (ImportError, RuntimeError) as error:
    said = ": ".join(str(error).splitlines()[:2])
    raise NoLibrary(f"mpi4py cannot load an MPI library ({said}); {INSTALL}") from error

__all__ = ["BINDING", "MPI", "everybodys", "library", "start"]

BINDING: str = mpi4py.__version__


def library() -> str:
    """Return the MPI library's name and version, short: `MPICH 5.0.2`."""
    text = MPI.Get_library_version().rstrip("\0").splitlines()[0]
    if text.startswith("MPICH Version"):
        return "MPICH " + text.split(":", 1)[1].split()[0]
    return text.split(",")[0].replace("v", "", 1) if text.startswith("Open MPI") else text[:60].strip()


def start() -> None:
    """Start MPI, once. Raises PlatformError, on every rank, where each of several ranks would be alone."""
    if not MPI.Is_initialized():
        if ill_launched(MPI.Get_library_version()):
            raise alone(size_hint())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # mpi4py's own doubts about the launcher
            MPI.Init_thread(MPI.THREAD_FUNNELED)
    told = size_hint()
    if MPI.COMM_WORLD.size == 1 and told not in (None, 1) and (launched() or in_slurm_step()):
        raise alone(told)


def everybodys(value: Any) -> tuple[int, list[Any]]:
    """Return this rank's number and every rank's value, once MPI is started; collective."""
    start()
    return MPI.COMM_WORLD.rank, MPI.COMM_WORLD.allgather(value)


def alone(told: int | None) -> PlatformError:
    """Return the error of ranks that each believe to be alone; each raises it, so nobody needs to be ended."""
    ranks = "" if told == 1 else f"started {told or 'several'} ranks, but each is alone, a job of 1 rank: it "
    error = PlatformError(
        f"the launcher {ranks}does not belong to {library()}; use that library's own mpirun (on this machine: dpbench "
        f"--ranks {told or 'N'}), or srun with the right --mpi= (srun --mpi=list names what it can)"
    )
    error.agreed = True
    return error
