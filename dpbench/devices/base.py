"""What the engine and the measurement need of a device. An array is one-dimensional and contiguous."""

from collections.abc import Callable
from typing import Any, Protocol


class Device(Protocol):
    """Memory, addition and waiting on one kind of device.

    Operations may be queued: they are complete only after `wait`. A host device does them at once, says so by
    `queues = False`, and its `wait` is never called.
    """

    name: str  #: as in `--device` and the CSV's device column
    queues: bool  #: whether operations are only queued until `wait`

    def empty(self, count: int, dtype: str) -> Any:
        """Return an array of `count` elements, its memory backed but its content arbitrary.

        Raises Unsuitable if there is not so much memory.
        """

    def from_host(self, values: Any) -> Any:
        """Return a device array that holds a copy of the NumPy array `values`."""

    def address(self, array: Any) -> int:
        """Return the address of the first element, as MPI takes it; 0 for an empty array is allowed."""

    def adder(self, left: Any, right: Any, out: Any) -> Callable[[], Any]:
        """Return a prebuilt call of `out = left + right`: same length and dtype, `out` may be `left`."""

    def copier(self, source: Any, out: Any) -> Callable[[], Any]:
        """Return a prebuilt call that sets `out = source`; it keeps both alive."""

    def poison(self, array: Any) -> None:
        """Set every byte to 0xFF: NaN in the float types, -1 or 255 in the integers, never a right sum."""

    def count_different(self, array: Any, expected: Any) -> int:
        """Return how many elements differ; NaN differs from everything."""

    def wait(self) -> None:
        """Return when all queued operations are complete."""
