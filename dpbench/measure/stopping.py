"""When a case has been measured enough. Rank 0 asks and broadcasts the answer: no rank decides alone."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from dpbench.measure.statistics import summarise

Reason = Literal["iters", "precision", "time", "samples"]
"""Why sampling stopped: the count asked for, an interval narrow enough, `--max-time`, or the most we take."""

LEAST_SAMPLES = 6  #: the fewest that give the median a 95 % interval (binomial: 2 / 2**6 <= 0.05 < 2 / 2**5)
ENOUGH_SAMPLES = 30  #: looking earlier costs coverage: simulated 93.5 to 96 % from here on, less before
MOST_SAMPLES = 10_000  #: the interval narrows with the square root only; ours
PRECISION = 0.025  #: half the interval, of the median: the ±2.5 % of Hoefler & Belli, SC15, section 4.2.2
BLOCK = 10  #: samples between two looks, from 30 on: simulated together with the two above
GROWTH = 10  #: a block is at least n/10: thousands of fast samples need not a broadcast for each ten; ours
LONGEST_S = 1.0  #: that a block is expected to take: between two the ranks look whether a signal came; ours
WARMUPS = 10  #: as OSU and IMB do; nccl-tests 1
WARMUP_SHARE = 0.25  #: of `--max-time`; ours


class Decision(NamedTuple):
    """Either `block` more samples, or none and the reason to stop."""

    block: int
    reason: Reason | None = None


def next_block(
    samples: Sequence[float], elapsed: float, max_time: float, iters: int | None = None, first: float = 0.0
) -> Decision:
    """Return what follows `samples` (seconds), which took `elapsed` seconds of this case's time to take.

    With `iters` exactly so many samples are taken. Otherwise at least 6, until from 30 on the interval is
    narrow enough, or `max_time` is used up, or 10,000 are there. A block is cut so that it is not expected to
    overrun `max_time`, nor to take longer than LONGEST_S; before there are samples, as the `first` exchange took.
    """
    done = len(samples)
    block = min(next_look(done) - done, in_time(elapsed / done if done else first))
    if iters is not None:
        return Decision(min(block, iters - done)) if done < iters else Decision(0, "iters")
    if done < LEAST_SAMPLES:
        return Decision(block)
    if done >= ENOUGH_SAMPLES and is_look(done) and summarise(samples).is_precise(PRECISION):
        return Decision(0, "precision")
    if done >= MOST_SAMPLES:
        return Decision(0, "samples")
    block = min(block, MOST_SAMPLES - done)
    if elapsed > 0:
        block = min(block, int((max_time - elapsed) * done / elapsed))
    return Decision(block) if block > 0 else Decision(0, "time")


def in_time(expected: float) -> int:
    """Return how many exchanges, of so many seconds each, fit into a block: at least one."""
    return max(1, int(LONGEST_S / expected)) if expected > 0 else MOST_SAMPLES


def next_look(done: int) -> int:
    """Return after how many samples it is next asked whether they suffice: 6, 30, then a tenth more, or 10."""
    look = LEAST_SAMPLES
    while look <= done:
        look = look + max(BLOCK, look // GROWTH) if look >= ENOUGH_SAMPLES else ENOUGH_SAMPLES
    return look


def is_look(done: int) -> bool:
    """Return whether it is asked after so many samples: in between, looking more often would cost coverage."""
    return next_look(done - 1) == done


def next_warmups(done: int, elapsed: float, max_time: float, warmup: int | None = None) -> int:
    """Return how many warm-ups follow `done` of them, which took `elapsed` seconds: as many again, 0 if they suffice.

    No block is expected to take longer than LONGEST_S.
    """
    if enough_warmups(done, elapsed, max_time, warmup):
        return 0
    left = (WARMUPS if warmup is None else warmup) - done
    return min(max(1, done), left, in_time(elapsed / done if done else 0.0))


def enough_warmups(done: int, elapsed: float, max_time: float, warmup: int | None = None) -> bool:
    """Return whether `done` warm-ups, which took `elapsed` seconds, suffice.

    Exactly `warmup` if given (0: none at all), else 10 or what a quarter of `max_time` allows, at least one.
    """
    if warmup is not None:
        return done >= warmup
    return done >= WARMUPS or (done >= 1 and elapsed >= WARMUP_SHARE * max_time)
