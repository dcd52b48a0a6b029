"""What the clock itself costs, and how fine it is."""

from collections.abc import Callable
from itertools import pairwise
from statistics import median
from time import perf_counter_ns
from typing import NamedTuple

READINGS = 1000
STEPS = 10  #: of which the least counts: an interruption only adds to one


class Timer(NamedTuple):
    """A clock, in nanoseconds."""

    overhead: int  #: of one reading; 0 if a step of the clock hides it
    resolution: int  #: the least step from one reading to a later one

    @classmethod
    def of(cls, clock: Callable[[], int] = perf_counter_ns) -> "Timer":
        """Return what a clock is like, from reading it over and over."""
        times = [clock() for _ in range(READINGS)]
        overhead = median(after - before for before, after in pairwise(times))
        return cls(round(overhead), min(step(clock) for _ in range(STEPS)))


def step(clock: Callable[[], int]) -> int:
    """Wait until the clock moves and return by how much it did."""
    before = clock()
    while (after := clock()) == before:
        pass
    return after - before
