"""Algorithm and bus bandwidth as nccl-tests defines them (doc/PERFORMANCE.md), in GB/s of 1e9 bytes a second.

    algbw = S / t               S bytes per worker, t the summarised time; rates are never averaged
    busbw = algbw * 2(W-1)/W    W workers

The factor belongs to the operation, all-reduce, not to the algorithm: every strategy gets the same one, so
busbw ranks the strategies. A parameter server with a factor of its own would cancel the very bottleneck that
is measured; what the busiest port really carried is another column. With dedicated servers W counts only the
workers, and busbw may exceed the rate of a link.
"""

from typing import NamedTuple

GB = 1e9


class Rates(NamedTuple):
    """Rates in GB/s; None where they are not defined, never 0."""

    algbw: float | None
    busbw: float | None


def bus_factor(workers: int) -> float | None:
    """Return 2(W-1)/W, the bytes each worker must send and must receive per byte; None for one worker."""
    return 2 * (workers - 1) / workers if workers > 1 else None


def rates(size: int, seconds: float, ranks: int, workers: int) -> Rates:
    """Return the rates of `size` bytes per worker all-reduced in `seconds`.

    Neither is defined where nothing travels: 0 bytes, or one rank.
    """
    if size == 0 or ranks == 1 or seconds <= 0:
        return Rates(None, None)
    algbw = size / seconds / GB
    factor = bus_factor(workers)
    return Rates(algbw, None if factor is None else algbw * factor)
