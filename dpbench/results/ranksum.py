"""The rank-sum test of two samples, exactly: no distribution of the values is assumed.

Mann & Whitney 1947, Annals of Mathematical Statistics 18: if nothing differs, every choice of n of the n+m values
is as likely to be the first sample, so the sum of its ranks has a distribution that can be counted, ties included.
The interval of the ratio inverts the test (Hodges & Lehmann 1963). Several tests at once: Holm 1979,
Scandinavian Journal of Statistics 6.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, erfc, floor, sqrt

MOST_COUNTED = 64  #: values of both samples; beyond, the normal distribution is as good
Z95 = 1.959964  #: 95 % of the normal distribution lie within so many standard deviations


def p_value(first: Sequence[float], second: Sequence[float]) -> Fraction:
    """Return the two-sided probability of so large a difference between two samples of the same."""
    ranks = doubled_ranks([*first, *second])
    n, m, observed = len(first), len(second), sum(ranks[: len(first)])
    if n + m > MOST_COUNTED:
        return Fraction(normal(ranks, n, observed))
    everything = tuple(sorted(ranks))
    below = tail(everything, n, observed)
    above = 1 - tail(everything, n, observed - 1)
    return min(Fraction(1), 2 * min(below, above))


def least_p(n: int, m: int) -> Fraction:
    """Return the p of samples of n and m values that do not overlap: no smaller one exists."""
    return min(Fraction(1), Fraction(2, comb(n + m, n)))


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value, whole numbers also where equal values share the mean of their ranks."""
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for rank, value in enumerate(sorted(values), start=1):
        first.setdefault(value, rank)
        last[value] = rank
    return [first[value] + last[value] for value in values]


def tail(ranks: tuple[int, ...], n: int, most: int) -> Fraction:
    """Return the probability that n of the ranks, picked at random, add up to at most `most`."""
    bits = len(ranks) + 1
    counts = sums(ranks, n) & ((1 << bits * (most + 1)) - 1)
    # A number modulo one less than its base is the sum of its digits, as long as that is less.
    return Fraction(counts % ((1 << bits) - 1), comb(len(ranks), n))


@lru_cache(maxsize=256)
def sums(ranks: tuple[int, ...], n: int) -> int:
    """Return in how many ways n of the ranks can be picked, for each sum of theirs.

    The counts are the digits of one number: digit s, of len(ranks) + 1 bits, counts the picks that add up to s.
    """
    bits = len(ranks) + 1
    ways = [1] + [0] * n  # by how many are picked
    for rank in ranks:
        for picked in range(n, 0, -1):
            ways[picked] += ways[picked - 1] << bits * rank
    return ways[n]


def normal(ranks: Sequence[int], n: int, observed: int) -> float:
    """Return the p of a large sample, by the normal distribution."""
    total = len(ranks)
    mean = sum(ranks) / total
    variance = n * (total - n) / (total - 1) * sum((rank - mean) ** 2 for rank in ranks) / total
    distance = max(0.0, abs(observed - n * mean) - 1)  # less the half of a step, which is 2 here
    return erfc(distance / sqrt(2 * variance)) if variance else 1.0


def ratio_interval(below: Sequence[float], above: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of above / below: the ratios by which scaling would pass the test at 5 %.

    None for samples so small that no interval has 95 %.
    """
    count = beyond(len(below), len(above))
    if count < 1:
        return None
    ratios = sorted(one / other for one in above for other in below)
    return ratios[count - 1], ratios[-count]


@lru_cache(maxsize=256)
def beyond(n: int, m: int) -> int:
    """Return the rank, counted from 1, of the interval's ends among the n·m ratios; 0 if there is none."""
    if n + m > MOST_COUNTED:
        return max(1, floor(n * m / 2 - Z95 * sqrt(n * m * (n + m + 1) / 12)))
    everything = tuple(range(2, 2 * (n + m) + 1, 2))
    count = 0
    while 2 * tail(everything, n, n * (n + 1) + 2 * count) <= Fraction(5, 100):
        count += 1
    return count


def holm(values: Sequence[Fraction]) -> list[Fraction]:
    """Return each p corrected for their number: at most 5 % of families of true hypotheses then have one below 5 %."""
    adjusted, worst = [Fraction(0)] * len(values), Fraction(0)
    for done, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        worst = max(worst, min(Fraction(1), (len(values) - done) * values[index]))
        adjusted[index] = worst
    return adjusted
