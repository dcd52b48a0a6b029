"""Loading MPI, in the one place where its thread level is asked for.

mpi4py would ask for MPI_THREAD_MULTIPLE, whose locks triple the cost of a small message; dpbench calls MPI from
the main thread only.
"""

from dpbench.engine.library import INSTALL
from dpbench.errors import PlatformError

try:
    import mpi4py

    mpi4py.rc.thread_level = "funneled"

    from mpi4py import MPI  # importing it starts MPI, so the level comes first
except ModuleNotFoundError as error:
    raise PlatformError(f"mpi4py is not installed ({error}): pip install mpi4py") from error
except (ImportError, RuntimeError) as error:
    raise PlatformError(f"mpi4py cannot load an MPI library ({str(error).splitlines()[0]}); {INSTALL}") from error

__all__ = ["MPI"]
