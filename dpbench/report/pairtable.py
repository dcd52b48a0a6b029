"""The table of a comparison, for the rows of one size."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

from dpbench.report.columns import NOTHING
from dpbench.report.console import spell
from dpbench.report.table import NAME_WIDTH, head, sized_table, uncropped
from dpbench.results.pairs import Pair, Verdict
from dpbench.units import time_text as time

COLOURS = {
    Verdict.SLOWER: "red",
    Verdict.FAILED: "red",
    Verdict.WRONG: "bold red",
    Verdict.FASTER: "green",
    Verdict.SMALL: "dim",
}


class Column(NamedTuple):
    """A column: its head (two lines), its least width, the cell of a row."""

    head: str
    unit: str
    width: int
    cell: Callable[[Pair], str]


def ratio(value: float) -> str:
    """Return a ratio with 3 decimals, a large one with 4 digits."""
    return f"{value:.3f}" if value < 9.9995 else f"{value:.4g}"


def interval(pair: Pair) -> str:
    """Return the ends of the ratio's interval."""
    return "-".join(map(ratio, pair.interval)) if pair.interval else NOTHING


def probability(pair: Pair) -> str:
    """Return the p of a row that was tested."""
    if pair.p is None:
        return NOTHING
    return f"{float(pair.p):.4f}" if pair.p >= 0.0001 else "<1e-4"


def said(pair: Pair) -> str:
    """Return what is said of a row."""
    return (pair.verdict or Verdict.SMALL).value


COLUMNS = (
    Column("BASE", "median", 8, lambda pair: time(float(pair.times[0]))),
    Column("NEW", "median", 8, lambda pair: time(float(pair.times[1]))),
    Column("ratio", "time", 5, lambda pair: ratio(float(pair.ratio))),
    Column("interval", "of ratio", 11, interval),
)
FEW = (Column("verdict", "by launches", 11, said),)
TESTED = (Column("p", "Holm", 6, probability), *FEW)
GATED = (Column("gate", "no verdict", 10, said),)


class PairTable:
    """The rows of one size, at least one, as a Rich table that is never narrower than its numbers."""

    def __init__(self, pairs: Sequence[Pair], names: Sequence[str], columns: Sequence[Column]) -> None:
        self._pairs, self._names, self._columns = pairs, names, columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the table, then an empty line."""
        ascii_only = options.ascii_only
        table = sized_table(self._pairs[0].identity.bytes, max(NAME_WIDTH, *map(len, self._names)), ascii_only)
        for each in self._columns:
            table.add_column(head(each.head, each.unit, each.width, ascii_only), justify="right", no_wrap=True)
        for name, pair in zip(self._names, self._pairs, strict=True):
            cells = (spell(each.cell(pair), ascii_only) for each in self._columns)
            table.add_row(Text(name), *cells, style=COLOURS.get(pair.verdict) if pair.verdict else "dim")
        for line in uncropped(table, console, options):
            yield from line
            yield Segment.line()
        yield Text("")
