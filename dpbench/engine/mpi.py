"""Loading MPI, in the one place where its thread level is asked for.

mpi4py would ask for MPI_THREAD_MULTIPLE, whose locks triple the cost of a small message; dpbench calls MPI from
the main thread only.
"""

import mpi4py

mpi4py.rc.thread_level = "funneled"

from mpi4py import MPI  # noqa: E402 - importing it starts MPI, so the level comes first

__all__ = ["MPI"]
