"""The rate of a link in steady state, from times that also contain a start, an end and a burst."""

from collections.abc import Callable
from math import log2

LANES = 4  # pieces under way at once, each way
PIECE_S = 1e-3  # of the link: so much is a piece, so that lanes fill any pipe and none is blocked by the calls
SMALLEST_PIECE, LARGEST_PIECE = 2**14, 2**20  # bytes
BURST = 2**20  # bytes that may ride on a link's idle time: not counted
MOST_BYTES = 64 * 2**20  # of what is counted, or what goes through in MOST_SECONDS
MOST_SECONDS = 1.0


def steady_rate(seconds: Callable[[int, int], float]) -> float:
    """Return bytes per second; `seconds(piece, nbytes)` sends that many bytes, in pieces back to back, and times it.

    What a long probe takes more than a short one: both have the same start and end, and the burst is in both.
    """
    seconds(SMALLEST_PIECE, BURST)  # connections are made
    guess = BURST / seconds(SMALLEST_PIECE, BURST)
    piece = min(LARGEST_PIECE, max(SMALLEST_PIECE, 1 << int(log2(guess * PIECE_S))))
    short, counted = max(BURST, LANES * piece), max(4 * BURST, min(MOST_BYTES, int(guess * MOST_SECONDS)))
    counted -= counted % piece
    before = seconds(piece, short)
    return counted / (seconds(piece, short + counted) - before)
