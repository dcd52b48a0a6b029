"""The synthetic gradient: integers whose sum over the workers is known, and exact however it is added.

Each worker has a table of small integers, a hash of seed, worker and place, arranged in rows. Its gradient
is a sequence of these rows; which row comes k-th is a hash of k, the same for all workers. So the expected
sum is the same sequence of rows of one more table, the sum of the workers' tables: it is compared at memory
speed, without memory that grows with the gradient. And a stretch of the gradient longer than a few rows
occurs only once: adding it twice, not at all, elsewhere or in another worker's place changes the sum.

Exact means: no sum of any workers' values at one place exceeds what the dtype counts exactly. Where the
workers are too many for that, they take turns: at each place every `turns`-th has a value, the others have 0.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.devices.base import Device
from dpbench.devices.hostdtype import numpy_dtype
from dpbench.dtypes import DTYPES

WIDTH = 64  #: elements of a row; stretches much longer than this are unique
ROWS = 128  #: rows of a table; with `WIDTH` elements of 8 bytes they fit into any cache
BLOCK = 4096 * WIDTH  #: elements that are filled or compared by one call: many, but within a cache
LARGEST = 2**16  #: the largest value, where the dtype would allow larger ones
DISTINCT = 3  #: every dtype has room for values from 1 to at least this

Integers = NDArray[np.uint64]
Ranges = Iterable[tuple[int, int]]


class Payload:
    """The tables of `workers` workers' gradients in `dtype`, and of their sum; reproducible from `seed`."""

    def __init__(self, workers: int, dtype: str, seed: int) -> None:
        exact = DTYPES[dtype].exact
        self.dtype = numpy_dtype(dtype)
        self.turns = -(-workers // min(workers, exact // DISTINCT))
        self.largest = min(exact // -(-workers // self.turns), LARGEST)
        self._workers = workers
        self._key = _hash(np.array([seed % 2**64], np.uint64))
        place = np.arange(ROWS * WIDTH, dtype=np.uint64)
        turn = _hash(place + self._key) % np.uint64(self.turns)
        self._places = [np.flatnonzero(turn == mine) for mine in range(self.turns)]

    def table(self, worker: int) -> NDArray[Any]:
        """Return the table of `worker`'s gradient, row after row."""
        table = np.zeros(ROWS * WIDTH, self.dtype)
        table[self._places[worker % self.turns]] = self._values(worker)
        return table

    def weights(self) -> NDArray[Any]:
        """Return the table of the weights before the first step: integers from 1 to `largest`."""
        place = np.arange(ROWS * WIDTH, dtype=np.uint64)
        return (_below(self.largest, _hash(place + ~self._key)) + np.uint64(1)).astype(self.dtype)

    def total(self, workers: Iterable[int] | None = None) -> NDArray[Any]:
        """Return the table of the sum of the gradients of `workers`, by default all, row after row."""
        total = np.zeros(ROWS * WIDTH, np.uint64)
        for worker in range(self._workers) if workers is None else workers:
            total[self._places[worker % self.turns]] += self._values(worker)
        return total.astype(self.dtype)

    def _values(self, worker: int) -> Integers:
        """Return the values, from 1 to `largest`, at the places where it is `worker`'s turn."""
        key = _hash(self._key + np.uint64(worker + 1))
        places = self._places[worker % self.turns].astype(np.uint64)
        return _below(self.largest, _hash(places + key)) + np.uint64(1)


def fill(device: Device, array: Any, device_table: Any, ranges: Ranges | None = None) -> None:
    """Fill `array`, or `ranges` of it, with what `device_table`, on the device, describes; complete on return."""
    queue = device.queue()
    for start, stop in [(0, len(array))] if ranges is None else ranges:
        for lo, hi in _blocks(start, stop):
            queue.copier(_stretch(device, device_table, lo, hi), array[lo:hi])()
    queue.wait()


def count_wrong(device: Device, array: Any, device_total: Any, ranges: Ranges) -> int:
    """Return how many elements of `array`, within `ranges`, differ from what `device_total` describes."""
    return sum(
        device.count_different(array[lo:hi], _stretch(device, device_total, lo, hi))
        for start, stop in ranges
        for lo, hi in _blocks(start, stop)
    )


def _blocks(lo: int, hi: int) -> Iterator[tuple[int, int]]:
    """Cut `[lo, hi)` into pieces of at most `BLOCK` elements."""
    for start in range(lo, hi, BLOCK):
        yield start, min(start + BLOCK, hi)


def _stretch(device: Device, table: Any, lo: int, hi: int) -> Any:
    """Return elements `[lo, hi)` of the gradient that `table` describes."""
    first = lo // WIDTH
    numbers = _below(ROWS, _hash(np.arange(first, -(-hi // WIDTH), dtype=np.uint64))).astype(np.intp)
    rows = device.take(table, numbers, WIDTH)
    return rows[lo - first * WIDTH : hi - first * WIDTH]


def _hash(numbers: Integers) -> Integers:
    """Return 64 well mixed bits for each number: one step of the SplitMix64 generator from that state."""
    bits = numbers * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def _below(bound: int, bits: Integers) -> Integers:
    """Scale hashed bits to integers from 0 to `bound - 1`."""
    return (bits >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32)
