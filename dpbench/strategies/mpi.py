"""The MPI library's own all-reduce, in both forms: the reference rows."""

from collections.abc import Callable
from typing import Any

from dpbench.strategies.base import Library, LibraryCalls


class MPIAllreduce(Library):
    """`MPI_Allreduce` in place, by whatever algorithm the library picks."""

    name = "mpi"
    summary = "MPI_Allreduce in place: whatever the MPI library picks, the reference row"
    in_place = True

    def prepare(self, calls: LibraryCalls, gradient: Any, output: Any, dtype: str) -> Callable[[], None]:
        """Return the in-place all-reduce of `output`."""
        return calls.allreduce(None, output, dtype)


class MPIAllreduceOut(Library):
    """`MPI_Allreduce` out of place: like the schedules, it leaves the gradient as it was."""

    name = "mpi-out"
    summary = "MPI_Allreduce out of place, as the other strategies work; stands in for mpi with --cadence streaming"

    def prepare(self, calls: LibraryCalls, gradient: Any, output: Any, dtype: str) -> Callable[[], None]:
        """Return the all-reduce of `gradient` into `output`."""
        return calls.allreduce(gradient, output, dtype)
