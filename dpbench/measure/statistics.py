"""Quantiles of samples and the exact interval of a quantile: no distribution of the samples is assumed.

Of n independent samples, K ~ Binomial(n, q) lie below the q-quantile, so two order statistics enclose it with
a probability that the binomial distribution gives exactly (Hoefler & Belli, SC15, rule 5; Le Boudec).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor

LEVEL = 0.95  #: confidence of every interval
NEGLIGIBLE = 1e-25  #: binomial masses this far below the largest cannot be seen in a sum of doubles


@dataclass(frozen=True)
class Summary:
    """What is reported of the samples of one case, in seconds; None where they are too few to say."""

    n: int
    median: float
    ci_low: float | None  #: 95 % interval of the median, from 6 samples on
    ci_high: float | None
    min: float
    p25: float
    p75: float
    p95: float | None  #: from 72 samples on, the least that give p95 an interval
    max: float

    @property
    def half_width(self) -> float | None:
        """Half the interval as a fraction of the median: 0.025 is "within ±2.5 %"."""
        if self.ci_low is None or self.ci_high is None or self.median <= 0:
            return None
        return (self.ci_high - self.ci_low) / 2 / self.median

    def is_precise(self, precision: float) -> bool:
        """Return whether there is an interval, and half of it is at most `precision` of the median."""
        return self.half_width is not None and self.half_width <= precision


def summarise(samples: Iterable[float]) -> Summary:
    """Return the summary of at least one sample, in any order."""
    ordered = sorted(samples)
    n = len(ordered)
    ranks = interval_ranks(n)
    low, high = (ordered[rank - 1] for rank in ranks) if ranks else (None, None)
    return Summary(
        n=n,
        median=quantile(ordered, 0.5),
        ci_low=low,
        ci_high=high,
        min=ordered[0],
        p25=quantile(ordered, 0.25),
        p75=quantile(ordered, 0.75),
        p95=quantile(ordered, 0.95) if interval_ranks(n, 0.95) else None,
        max=ordered[-1],
    )


def quantile(ordered: Sequence[float], q: float) -> float:
    """Return the q-quantile of ascending values interpolated linearly as in `numpy.quantile`."""
    position = (len(ordered) - 1) * q
    below = floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


@lru_cache(maxsize=4096)
def interval_ranks(n: int, q: float = 0.5, level: float = LEVEL) -> tuple[int, int] | None:
    """Return the ranks (l, u), counted from 1, of the two of n ordered samples that enclose the q-quantile.

    The largest l with P(K < l) <= (1 - level) / 2 and the least u with P(K >= u) <= (1 - level) / 2. None if
    one of them does not exist: the extremes never stand in for it.
    """
    tail = (1 - level) / 2
    first, masses = binomial(n, q)
    lower = first + outcomes_within(masses, tail)
    upper = first + len(masses) - outcomes_within(masses[::-1], tail)
    return (lower, upper) if lower >= 1 and upper <= n else None


def outcomes_within(masses: Sequence[float], tail: float) -> int:
    """Return how many masses, from the first on, together stay within `tail`."""
    total = 0.0
    for count, mass in enumerate(masses):
        total += mass
        if total > tail:
            return count
    return len(masses)


def binomial(n: int, q: float) -> tuple[int, list[float]]:
    """Return (first, masses) with masses[i] = P(K = first + i) for K ~ Binomial(n, q), 0 < q < 1.

    Each mass follows from its neighbour, outwards from the mode, and all are then scaled to a sum of 1:
    nothing overflows, and of a large n only the 20 or so standard deviations that matter are computed.
    """
    mode = min(n, floor((n + 1) * q))
    odds = q / (1 - q)
    up, down = [1.0], []
    for k in range(mode, n):
        up.append(up[-1] * odds * (n - k) / (k + 1))
        if up[-1] < NEGLIGIBLE:
            break
    mass = 1.0
    for k in range(mode, 0, -1):
        mass *= k / (odds * (n - k + 1))
        down.append(mass)
        if mass < NEGLIGIBLE:
            break
    total = sum(up) + sum(down)
    return mode - len(down), [mass / total for mass in (*reversed(down), *up)]
