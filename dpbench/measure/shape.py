"""What the samples of a case look like beyond median and quartiles. Nothing is judged here."""

from collections.abc import Sequence
from math import exp, log
from statistics import median
from typing import NamedTuple

LEAST_LEAD = 5  #: samples at the start that say something together


class Modes(NamedTuple):
    """Samples told apart into two groups, the way that leaves the least variance within them."""

    low: float  #: the median of the faster ones
    high: float  #: and of the slower ones
    slower: float  #: the share of these
    between: float  #: as many as lie in the middle third of the way from low to high, by the size of the smaller group

    @property
    def smaller(self) -> float:
        """The share of the smaller group."""
        return min(self.slower, 1 - self.slower)


def modes(samples: Sequence[float]) -> Modes | None:
    """Return the two groups (Otsu 1979), by the logarithms of the times; None if there are not two times."""
    logs = sorted(log(sample) for sample in samples if sample > 0)
    if not logs or logs[0] == logs[-1]:
        return None
    n, total = len(logs), sum(logs)
    cut, most, below = 0, 0.0, 0.0
    for index in range(1, n):
        below += logs[index - 1]
        apart = below / index - (total - below) / (n - index)
        if index * (n - index) * apart**2 > most:
            cut, most = index, index * (n - index) * apart**2
    low, high = median(logs[:cut]), median(logs[cut:])
    third = (high - low) / 3
    between = sum(low + third < each < high - third for each in logs)
    return Modes(exp(low), exp(high), 1 - cut / n, between / min(cut, n - cut))


def slow_lead(samples: Sequence[float], p75: float) -> float | None:
    """Return the median of the first tenth, and at least 5, if all of them are in the slowest quarter."""
    lead = samples[: max(LEAST_LEAD, len(samples) // 10)]
    return median(lead) if min(lead) > p75 else None
