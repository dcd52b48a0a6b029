"""How far apart the ranks of one host start an exchange, and how long it takes from the first start to the last end.

`perf_counter_ns` is CLOCK_MONOTONIC there, the same for all processes. The clocks of different hosts are never
compared, nor those of one host that turn out to differ, as in containers with a time of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpbench.engine.world import World


@dataclass
class Spread:
    """Of each sample, in nanoseconds; empty where clocks cannot be compared."""

    starts: list[int] = field(default_factory=list)  #: the last start after the first
    spans: list[int] = field(default_factory=list)  #: from the first start to the last end

    def add(self, world: "World", begin: int, starts: Sequence[int], times: Sequence[int]) -> None:
        """Take the samples of all ranks since `begin`, this rank's reading before the first barrier of them.

        No rank starts before all have begun, and all have ended when this is called: stamps outside of that are
        those of another clock.
        """
        ends = [start + time for start, time in zip(starts, times, strict=True)]
        extremes = world.maxima([*starts, *ends, *(-start for start in starts)])
        n = len(starts)
        last, end, first = extremes[:n], extremes[n : 2 * n], [-each for each in extremes[2 * n :]]
        one_clock = begin <= min(first, default=begin) and max(end, default=begin) <= perf_counter_ns()
        if not all(world.gather(one_clock)):
            self.starts, self.spans = [], []
            return
        self.starts += [late - early for late, early in zip(last, first, strict=True)]
        self.spans += [late - early for late, early in zip(end, first, strict=True)]

    @property
    def skew_s(self) -> float | None:
        """The median over samples of how much later the last rank starts, in seconds."""
        return median(self.starts) / 1e9 if self.starts else None

    @property
    def span_s(self) -> float | None:
        """The median over samples from the first start to the last end, in seconds."""
        return median(self.spans) / 1e9 if self.spans else None
