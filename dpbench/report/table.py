"""The table of one size."""

from collections.abc import Iterator, Sequence

from rich.box import Box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from dpbench.report.columns import TABLE, fastest
from dpbench.report.console import spell
from dpbench.results.record import Row
from dpbench.units import format_size

LINE = "    \n    \n ── \n    \n    \n    \n    \n    \n"
BOX, ASCII_BOX = Box(LINE), Box(LINE.replace("─", "-"), ascii=True)
NAME_WIDTH = 10
UNLIMITED = 10_000
GAP = 2  #: between two columns: one of padding, one of the box


class SizeTable:
    """The rows of one size, at least one, as a Rich table that is never narrower than its numbers.

    A skipped row says why in place of its cells: as Rich has no cells across columns, its line is replaced.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the table, then what is wrong with the invalid rows, then an empty line."""
        lines = uncropped(self._table(options.ascii_only), console, options)
        first = len(lines) - len(self._rows)  # every row is one line, and nothing follows them
        for index, line in enumerate(lines):
            row = self._rows[index - first] if index >= first else None
            if row and row.quality == "skipped":
                name = f"{row.strategy:<{self._name_width + GAP}}"
                yield Text(f"{name}skipped: {row.reason}", style="yellow")
            else:
                yield from line
                yield Segment.line()
        yield from self._errors()
        yield Text("")

    @property
    def _name_width(self) -> int:
        return max(NAME_WIDTH, *(len(row.strategy) for row in self._rows))

    def _table(self, ascii_only: bool) -> Table:
        rows = self._rows
        columns = [column for column in TABLE if any(column.when(row) for row in rows)]
        table = sized_table(rows[0].bytes, self._name_width, ascii_only)
        for column in columns:
            table.add_column(head(column.head, column.unit, column.width, ascii_only), justify="right", no_wrap=True)
        best = fastest(rows)
        cells = zip(*(column.cells(rows) for column in columns), strict=True)
        for row, texts in zip(rows, cells, strict=True):
            spelled = (spell(text, ascii_only) for text in texts)
            table.add_row(row.strategy, *spelled, style=style(row, row is best))
        return table

    def _errors(self) -> Iterator[Text]:
        for row in self._rows:
            if row.quality == "invalid" and row.reason:
                yield Text(f"{row.strategy}: {row.reason}", style="red")


def sized_table(size: int, name_width: int, ascii_only: bool) -> Table:
    """Return a table without rows whose first column has the size in its head, and will have the strategies."""
    table = Table(
        box=ASCII_BOX if ascii_only else BOX,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
        header_style="",
    )
    names = (f"{'strategy':<{name_width}}", "dim")
    table.add_column(Text.assemble((format_size(size), "bold"), "\n", names), no_wrap=True)
    return table


def uncropped(table: Table, console: Console, options: ConsoleOptions) -> list[list[Segment]]:
    """Return the lines of a table, as wide as its cells need."""
    width = Measurement.get(console, options.update(width=UNLIMITED), table).maximum
    return console.render_lines(table, options.update(width=width), pad=False)


def head(name: str, unit: str, width: int, ascii_only: bool) -> Text:
    """Return the two lines above a column."""
    lower = (spell(unit, ascii_only).rjust(width), "dim")
    return Text.assemble((spell(name, ascii_only), "bold"), "\n", lower, justify="right")


def style(row: Row, is_fastest: bool) -> str:
    """Return the colour of a row: what is wrong, and what is fastest."""
    return "bold red" if row.quality == "invalid" else "green" if is_fastest else ""
