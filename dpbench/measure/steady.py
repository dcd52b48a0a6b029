"""The rate of a link in steady state, from times that also contain a start, an end and a burst."""

from collections.abc import Callable
from math import log2

LANES = 4  # pieces under way at once, each way
PIECE_S = 1e-3  # of the link: so much is a piece, so that lanes fill any pipe and none is blocked by the calls
SMALLEST_PIECE, LARGEST_PIECE = 2**14, 2**20  # bytes
FIRST_BYTES, BURST = 2**16, 2**20  # what is sent first, and what at most rides on a link's idle time: not counted
NOTABLE_S = 0.05  # a probe that takes so long is more than a burst
MOST_BYTES = 64 * 2**20  # of what is counted, or what goes through in MOST_SECONDS
MOST_SECONDS = 0.5
REPEATS = 2  # of which the least time counts: a disturbance only adds to it
PLAUSIBLE = 0.5  # of its share of the long probe's time: what is counted takes that long at least

Seconds = Callable[[int, int], float]
"""Send so many bytes (the second) in pieces of so many (the first), back to back, and return the time that took."""


def steady_rate(seconds: Seconds) -> float:
    """Return bytes per second: what a long probe takes more than a short one.

    Both have the same start and end, and what passes at once after a pause is in both.
    """
    short, guess = first_look(seconds)
    piece = min(LARGEST_PIECE, max(SMALLEST_PIECE, 1 << int(log2(guess * PIECE_S))))
    short = max(short, LANES * piece)
    counted = max(LANES * piece, min(MOST_BYTES, int(guess * MOST_SECONDS)) // piece * piece)
    return difference(
        min(seconds(piece, short) for _ in range(REPEATS)),
        min(seconds(piece, short + counted) for _ in range(REPEATS)),
        short,
        counted,
    )


def first_look(seconds: Seconds) -> tuple[int, float]:
    """Make the connections; return as many bytes as a link does not pass at once, and a guess at its rate."""
    nbytes = FIRST_BYTES
    seconds(SMALLEST_PIECE, nbytes)
    while (took := seconds(SMALLEST_PIECE, nbytes)) < NOTABLE_S and nbytes < BURST:
        nbytes *= 2
    return nbytes, nbytes / took


def difference(before: float, took: float, short: int, counted: int) -> float:
    """Return the rate of the `counted` bytes that a long probe has more than a short one.

    Where a disturbance made the short one about as slow, the rate of all of the long one: too low, not absurd.
    """
    share = took * counted / (short + counted)
    return counted / (took - before) if took - before > PLAUSIBLE * share else (short + counted) / took
