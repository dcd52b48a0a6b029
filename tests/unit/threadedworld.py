"""Several ranks as threads of one process, for what needs only the collective calls that carry values."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any


class ThreadedWorld:
    """One rank's view of the job."""

    def __init__(self, rank: int, size: int, values: list[Any], barrier: Barrier) -> None:
        self.rank = self.number = rank
        self.size = size
        self.numbers = range(size)
        self.values, self.barrier = values, barrier

    def gather(self, value: Any) -> list[Any]:
        self.values[self.rank] = value
        self.barrier.wait(10)
        everybodys = list(self.values)
        self.barrier.wait(10)
        return everybodys

    def to_root(self, value: Any) -> list[Any] | None:
        everybodys = self.gather(value)
        return everybodys if self.rank == 0 else None

    def from_root(self, value: Any) -> Any:
        return self.gather(value)[0]

    def meet(self) -> None:
        self.barrier.wait(10)

    def host(self, rank: int) -> str:
        return f"n{rank}"

    def maxima(self, values: list[int]) -> list[int]:
        return [max(each) for each in zip(*self.gather(values), strict=True)]


def on_ranks(size: int, act: Callable[[Any], Any]) -> list[Any]:
    """Return what `act` returns on each rank."""
    values, barrier = [None] * size, Barrier(size)
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(act, [ThreadedWorld(rank, size, values, barrier) for rank in range(size)]))
