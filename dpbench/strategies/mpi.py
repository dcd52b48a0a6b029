"""The MPI library's own all-reduce: the reference row."""

from collections.abc import Callable
from typing import Any

from dpbench.strategies.base import Library, LibraryCalls


class MPIAllreduce(Library):
    """`MPI_Allreduce` in place, by whatever algorithm the library picks."""

    name = "mpi"
    summary = "MPI_Allreduce in place: whatever the MPI library picks, the reference row"

    def prepare(self, calls: LibraryCalls, output: Any, dtype: str) -> Callable[[], None]:
        """Return the in-place all-reduce of `output`."""
        return calls.allreduce_in_place(output, dtype)
