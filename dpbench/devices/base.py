"""What the engine and the measurement need of a device. An array is one-dimensional and contiguous."""

from collections.abc import Callable
from typing import Any, Protocol

Call = Callable[[], Any]


class Queue(Protocol):
    """Operations in order: what one lane does on the device.

    They may only be begun when a call returns. `ready` then tells, and `wait` sees to it, that all are complete.
    """

    ready: Callable[[], bool] | None  #: None where every operation is complete when its call returns

    def adder(self, left: Any, right: Any, out: Any) -> Call:
        """Return a prebuilt call that sets `out = left + right` (same length and dtype; `out` may be either)."""

    def copier(self, source: Any, out: Any) -> Call:
        """Return a prebuilt call that sets `out = source`; one of them may be a mirror."""

    def updater(self, weights: Any, gradient: Any, rate: float) -> Call:
        """Return a prebuilt call that sets `weights -= rate * gradient`, rounded twice; the gradient is spent."""

    def wait(self) -> None:
        """Return when all operations are complete."""


class Device(Protocol):
    """Memory of one kind, and queues of operations on it.

    What is not queued (filling, poisoning, comparing) is complete on return.
    """

    name: str  #: as in `--device` and the CSV's device column
    direct: bool  #: whether MPI is given device memory that is not the host's

    def empty(self, count: int, dtype: str) -> Any:
        """Return an array of `count` elements, its memory backed but its content arbitrary.

        Raises Unsuitable if there is not so much memory.
        """

    def mirror(self, array: Any) -> Any:
        """Return what MPI sends from and receives into for `array`: itself, or host memory as long as it."""

    def address(self, array: Any) -> int:
        """Return the address of the first element of an array or mirror; anything if it is empty."""

    def queue(self) -> Queue:
        """Return a new queue; those of different lanes run side by side."""

    def from_host(self, values: Any) -> Any:
        """Return a device array that holds a copy of the NumPy array `values`."""

    def poison(self, array: Any) -> None:
        """Set every byte to 0xFF: NaN in the float types, -1 or 255 in the integers, never a right sum."""

    def take(self, table: Any, rows: Any, width: int) -> Any:
        """Return, flat, the rows numbered by the NumPy array `rows` of `table` seen as rows of `width` elements."""

    def count_different(self, array: Any, expected: Any) -> int:
        """Return how many elements differ; NaN differs from everything."""
