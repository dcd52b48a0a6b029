"""The columns of the table: what each shows of a row, and the one line that explains it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpbench.results.record import STREAMING, Row
from dpbench.units import time_text

NOTHING = "n/a"  #: not measured or not defined
MOST_DECIMALS = 5  #: that fit; smaller rates have an exponent

Cells = Callable[[Sequence[Row]], list[str]]


@dataclass(frozen=True)
class Column:
    """One column: its head (two lines), the cells of the rows of one size, and its line below the tables."""

    head: str
    unit: str
    width: int  #: the least, so that the tables of all sizes line up
    cells: Cells
    meaning: str
    when: Callable[[Row], bool] = lambda row: True  #: shown if any row says so


def each(show: Callable[[Row], str | None]) -> Cells:
    """Return cells that depend on their own row only."""
    return lambda rows: [show(row) or NOTHING for row in rows]


def slices(row: Row) -> str | None:
    """Return slices × window: how many slices, and how many of them are under way at a time."""
    if row.slices is None:
        return None
    return f"{row.slices} × {row.window}" if row.window else str(row.slices)


def time(row: Row) -> str | None:
    """Return the median, or that the result is wrong, for then no time is worth reading."""
    if row.quality == "invalid":
        return "WRONG"
    return None if row.time_median_s is None else time_text(row.time_median_s)


def interval(row: Row) -> str | None:
    """Return half the 95 % interval in percent of the median."""
    low, high, median = row.time_ci_low_s, row.time_ci_high_s, row.time_median_s
    if low is None or high is None or not median:
        return None
    half = (high - low) / 2 / median
    return f"{half:.1%}" if half < 0.9995 else f"{half:.0%}"


def busiest(row: Row) -> str | None:
    """Return the bytes of the busiest rank as a multiple of the size."""
    if row.busiest_rank_bytes is None or not row.bytes:
        return None
    return f"{row.busiest_rank_bytes / row.bytes:.2f} S"


def wrong(row: Row) -> str | None:
    """Return the number of wrong elements."""
    return None if row.wrong_elements is None else str(row.wrong_elements)


def limit(row: Row) -> str | None:
    """Return how close the time is to the limit of the busiest port."""
    return None if row.limit_fraction is None else f"{row.limit_fraction:.0%}"


def name_of(row: Row, with_device: bool) -> str:
    """Return what a strategy is called where there may be several devices."""
    return row.strategy + (f" on {row.device}" if with_device else "")


def device(row: Row) -> str:
    """Return where the gradients live."""
    return row.device


def rates(of: Callable[[Row], float | None]) -> Cells:
    """Return cells whose points line up: for all as many decimals as give the smallest 3 digits."""

    def cells(rows: Sequence[Row]) -> list[str]:
        values = [of(row) for row in rows]
        smallest = min((value for value in values if value), default=1.0)
        decimals = max(2, 2 - math.floor(math.log10(smallest)))
        style = f".{decimals}f" if decimals <= MOST_DECIMALS else ".1e"
        return [NOTHING if value is None else f"{value:{style}}" for value in values]

    return cells


def fastest(rows: Sequence[Row]) -> Row | None:
    """Return the row with the least time of those that are right."""
    timed = [row for row in rows if row.quality in ("ok", "warn") and row.time_median_s]
    return min(timed, key=lambda row: row.time_median_s or math.inf, default=None)


def times_fastest(rows: Sequence[Row]) -> list[str]:
    """Return each right row's time over the least of them."""
    best = fastest(rows)

    def cell(row: Row) -> str:
        if best is None or not best.time_median_s or not row.time_median_s or row.quality == "invalid":
            return NOTHING
        return f"{row.time_median_s / best.time_median_s:.2f}"

    return [cell(row) for row in rows]


TABLE = (
    Column("device", "", 11, each(device), "where the gradients live", when=lambda row: row.device != "cpu"),
    Column(
        "slices", "× window", 8, each(slices), "pieces the gradient is cut into × pieces under way at a time"
    ),
    Column(
        "time",
        "median",
        8,
        each(time),
        "median of the iterations, each until the slowest rank is done",
        when=lambda row: row.cadence != STREAMING,
    ),
    Column(
        "time",
        "streamed",
        8,
        each(time),
        "median of samples: exchanges back to back until the slowest rank is done, / their number",
        when=lambda row: row.cadence == STREAMING,
    ),
    Column("±", "95 %", 5, each(interval), "half the 95 % confidence interval of the median, in % of it"),
    Column(
        "algbw",
        "GB/s",
        7,
        rates(lambda row: row.algbw_GB_per_s),
        "S / time, S bytes of gradient per worker; GB = 1e9 bytes",
    ),
    Column(
        "busbw",
        "GB/s",
        7,
        rates(lambda row: row.busbw_GB_per_s),
        "algbw × 2(W-1)/W, W workers, whatever the strategy; per direction",
    ),
    Column(
        "busiest", "rank", 7, each(busiest), "bytes the busiest rank sends or receives, whichever is more"
    ),
    Column(
        "of limit",
        "",
        8,
        each(limit),
        "the time that the busiest port's rate allows at best / time",
        when=lambda row: row.limit_fraction is not None,
    ),
    Column("wrong", "sums", 5, each(wrong), "elements with a wrong sum, of all ranks; n/a: not checked"),
    Column("×", "fastest", 7, times_fastest, "time / time of the fastest strategy whose result is right"),
)
