"""The host as a device: NumPy arrays, added by the calling thread."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpbench.devices.base import Call
from dpbench.devices.hostdtype import numpy_dtype
from dpbench.errors import Unsuitable

BLOCK = 2**16  #: elements that an update takes at a time: they stay in cache between its two operations
PAGE, HUGE_PAGE = 2**12, 2**21  #: arrays begin on a page; large ones on a huge page, which NumPy asks for


class NumpyDevice:
    """Host memory and NumPy's additions, which are complete when their call returns: it is its own queue."""

    name = "cpu"
    direct = False
    ready: Callable[[], bool] | None = None

    def empty(self, count: int, dtype: str) -> Any:
        """Return an aligned array of `count` elements whose pages exist: each byte has been written once."""
        kind = numpy_dtype(dtype)
        size = count * kind.itemsize
        alignment = HUGE_PAGE if size >= HUGE_PAGE else PAGE
        try:
            memory = np.empty(size + alignment, np.uint8)
        except MemoryError as error:
            raise Unsuitable(f"no memory for an array of {size} bytes") from error
        start = -self.address(memory) % alignment
        array = memory[start : start + size]
        array.fill(0)  # the system backs a page when it is first written, not when it is asked for
        return array.view(kind)

    def mirror(self, array: Any) -> Any:
        """Return the array itself: MPI takes host memory."""
        return array

    def address(self, array: Any) -> int:
        """Return the address of the first element."""
        return int(array.__array_interface__["data"][0])

    def queue(self) -> "NumpyDevice":
        """Return itself."""
        return self

    def adder(self, left: Any, right: Any, out: Any) -> Call:
        """Return a call that sets `out = left + right`; positional arguments are NumPy's quickest."""
        return partial(np.add, left, right, out)

    def copier(self, source: Any, out: Any) -> Call:
        """Return a call that sets `out = source`."""
        return partial(np.copyto, out, source)

    def updater(self, weights: Any, gradient: Any, rate: float) -> Call:
        """Return a call that sets `weights -= rate * gradient`, block by block."""
        starts = range(0, len(weights), BLOCK)
        blocks = [(weights[start : start + BLOCK], gradient[start : start + BLOCK]) for start in starts]
        return partial(update, blocks, weights.dtype.type(rate))

    def wait(self) -> None:
        """Do nothing: nothing is ever pending."""

    def from_host(self, values: Any) -> Any:
        """Return a copy of the NumPy array `values`."""
        array = self.empty(len(values), values.dtype.name)
        np.copyto(array, values)
        return array

    def poison(self, array: Any) -> None:
        """Set every byte to 0xFF."""
        array.view(np.uint8).fill(0xFF)

    def take(self, table: Any, rows: Any, width: int) -> Any:
        """Return the rows numbered by `rows`, flat."""
        return table.reshape(-1, width).take(rows, axis=0).reshape(-1)

    def count_different(self, array: Any, expected: Any) -> int:
        """Return how many elements differ; a wrong result may hold any bits, signaling NaNs included."""
        with np.errstate(invalid="ignore"):
            return int(np.count_nonzero(array != expected))


def update(blocks: list[tuple[Any, Any]], rate: Any) -> None:
    """Set weights -= rate * gradient for each pair of them."""
    for weights, gradient in blocks:
        np.multiply(gradient, rate, gradient)
        np.subtract(weights, gradient, weights)
