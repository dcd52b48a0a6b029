"""Exchanges back to back: how fast they follow each other, where a barrier before each tells how long one takes.

So nccl-tests and others measure. What overlaps with the next exchange is not seen, so the times are shorter: both are
true of something, and a row says which it is.
"""

from collections.abc import Callable

STREAM = 20  #: exchanges between two barriers: nccl-tests' default
LEAST_STREAM = 2  #: fewer are no stream
SHARE = 0.1  #: of `--max-time`, which one sample should not exceed: so at least 6 find room in it; ours
MOST_S = 1.0  #: nor this, for signals are heeded between samples


def stream_of(seconds: float, max_time: float) -> int:
    """Return how many exchanges of so many seconds make one sample."""
    room = min(SHARE * max_time, MOST_S) / seconds if seconds > 0 else STREAM
    return min(STREAM, max(LEAST_STREAM, int(room)))


def back_to_back(run: Callable[[], None], number: int) -> None:
    """Exchange so often."""
    for _ in range(number):
        run()
