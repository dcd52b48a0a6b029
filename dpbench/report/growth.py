"""How the time of each strategy grows with the ranks, beside how its bound grows: the end of a run with --scaling."""

from collections.abc import Iterator, Sequence

from dpbench.report.columns import NOTHING, limit, name_of, time
from dpbench.results.record import WHOLE, Row
from dpbench.units import format_size, time_text

LINE = "{:<20}{:>6}{:>7}{:>12}{:>9}"
BOUND = LINE + "{:>12}{:>8}{:>6}"

LEGEND = (
    "growth\ttime / time at the fewest ranks of the same scope",
    "bound\tthe time that the busiest port's rate allows at best, and its growth",
)


def growth(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines, for `Screen.print`: of the smallest and of the largest size; nothing without several ranks."""
    rows = [row for row in rows if row.operation in WHOLE]
    if len({row.ranks for row in rows}) < 2:
        return
    sizes = sorted({row.bytes for row in rows})
    bounded = any(row.limit_s for row in rows)
    for size in dict.fromkeys([*sizes[:1], *sizes[-1:]]):
        yield from table([row for row in rows if row.bytes == size], bounded)
    yield from LEGEND if bounded else LEGEND[:1]
    yield ""


def table(rows: Sequence[Row], bounded: bool) -> Iterator[str]:
    """Yield the table of one size, every row of it with the ranks of one group."""
    style = BOUND if bounded else LINE
    heads = ("ranks", "nodes", "time", "growth", "bound", "growth", "of it")
    yield style.format(f"{format_size(rows[0].bytes)}, scaling", *heads)
    yield "─" * len(style.format(*[""] * 8))
    several = len({row.device for row in rows}) > 1
    for strategy, device in dict.fromkeys((row.strategy, row.device) for row in rows):
        mine = [row for row in rows if (row.strategy, row.device) == (strategy, device)]
        timed = [row for row in mine if row.time_median_s] or mine
        first = next((row for row in timed if row.scope == mine[-1].scope), timed[0])
        name = name_of(first, several)
        for row in mine:
            yield style.format(name, *cells(row, first)).rstrip()
            name = ""
    yield ""


def cells(row: Row, first: Row) -> Iterator[str]:
    """Yield what a row shows; `first` is the strategy's row with the fewest ranks."""
    yield from (str(row.ranks), str(row.nodes))
    yield "skipped" if row.quality == "skipped" else time(row) or NOTHING
    comparable = row.scope == first.scope  # memory and a network are not
    yield times(row.time_median_s, first.time_median_s) if comparable else NOTHING
    yield time_text(row.limit_s) if row.limit_s else NOTHING
    yield times(row.limit_s, first.limit_s)
    yield limit(row) or NOTHING


def times(value: float | None, first: float | None) -> str:
    """Return how many times the first a value is."""
    return f"{value / first:.2f}" if value and first else NOTHING
