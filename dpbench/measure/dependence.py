"""Whether samples are independent, as the interval of their median takes them to be."""

from collections.abc import Sequence
from math import sqrt
from statistics import mean, variance

BATCHES = 10  #: of consecutive samples: few enough that 30 samples give each 3


def widening(samples: Sequence[float], median: float) -> float:
    """Return how many times as wide the median's interval must be as for independent samples.

    Batch means (Flyvbjerg & Petersen 1989; Law & Kelton): what counts for the median is on which side of it the
    samples lie. Where neighbours are alike, or all of them drift, the shares above it vary more from batch to batch
    than those of independent samples do. About 1 for these, whatever their distribution.
    """
    sides = [(sample > median) - (sample < median) for sample in samples]
    n = len(sides)
    alone = variance(sides) if n > 1 else 0
    if n < 2 * BATCHES or not alone:
        return 1.0
    batches = [mean(sides[n * i // BATCHES : n * (i + 1) // BATCHES]) for i in range(BATCHES)]
    return sqrt(variance(batches) * (n / BATCHES) / alone)
