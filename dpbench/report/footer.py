"""Below the tables: the warnings, what each column means, and what they cannot say."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from textwrap import wrap

from dpbench.report.columns import TABLE
from dpbench.report.console import TAB, WIDTH
from dpbench.report.header import count
from dpbench.report.peaks import UNBROKEN, peaks
from dpbench.results.doubt import Doubt
from dpbench.results.facts import RunFacts
from dpbench.results.phases import Breakdown
from dpbench.results.record import Row
from dpbench.units import format_size

ROWS_NAMED = 3


def footer(facts: RunFacts, parts: Sequence[Breakdown]) -> Iterator[str]:
    """Yield the lines below the tables, for `Screen.print`."""
    rows = [each.row for each in parts]
    shown = [column for column in TABLE if any(column.when(row) for row in rows)]
    if best := peaks(rows):
        yield from (*indented(best, "peaks"), "")
    yield from warnings(parts)
    yield from (f"{column.head}\t{column.meaning}" for column in shown)
    if facts.ranks == 1:
        yield "One rank sends nothing: rates are n/a. Use more: --ranks N, or mpirun -n N."
    elif any(row.scope == "host-memory" for row in rows):
        where = "One node: its" if all(row.nodes == 1 for row in rows) else "Rows on one node: their"
        yield f"{where} ranks share memory, which is not a network: no claim about one."


def warnings(parts: Sequence[Breakdown]) -> Iterator[str]:
    """Yield for each code the rows that have it, why the worst of them does, and what to do."""
    found: dict[str, list[tuple[Row, Doubt]]] = defaultdict(list)
    for each in parts:
        for doubt in each.doubts:
            found[doubt.code].append((each.row, doubt))
    for code, concerned in sorted(found.items()):
        named = ", ".join(name(row, parts) for row, _ in concerned[:ROWS_NAMED])
        more = ", …" if len(concerned) > ROWS_NAMED else ""
        yield f"{code} in {count(len(concerned), 'row')}: {named}{more}"
        row, worst = max(concerned, key=lambda each: each[1].excess)
        alike = len({doubt.cause for _, doubt in concerned}) == 1
        yield from indented(worst.cause if alike else f"{name(row, parts)}: {worst.cause}")
        yield from indented(worst.advice)
    if found:
        yield ""


def name(row: Row, parts: Sequence[Breakdown]) -> str:
    """Return what a row is called among the others."""
    differs = {each.row.ranks for each in parts} != {row.ranks}
    return f"{row.strategy} {format_size(row.bytes)}" + (f" on {row.ranks} ranks" if differs else "")


def indented(text: str, head: str = "") -> Iterator[str]:
    """Yield the lines of a sentence, the first after its head; they break at blanks that may break."""
    for line in wrap(text, WIDTH - TAB, break_on_hyphens=False):
        yield f"{head}\t{line.replace(UNBROKEN, ' ')}"
        head = ""
