"""Below the tables: what each column means, what they cannot say, and the warnings."""

from collections.abc import Iterator, Sequence

from dpbench.report.columns import TABLE
from dpbench.report.header import count
from dpbench.results.facts import RunFacts
from dpbench.results.record import Row
from dpbench.units import format_size

ROWS_NAMED = 3

WARNINGS = {
    "W02": "shorter than 10 times the floor: mostly the harness was timed",
    "W03": "more ranks than cores on a machine: times include waiting for a core",
    "W07": "not within ±2.5 % when the sampling ended: raise --max-time, or look for other load",
    "W13": "faster than the measured links allow: their calibration is wrong, so is 'of limit'",
    "W17": "the additions alone take longer than the wire: they are the limit, not the links",
    "W14": "fewer than 6 samples: there is no interval; raise --iters or --max-time",
}


def footer(facts: RunFacts, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines below the tables of `rows`, for `Screen.print`."""
    shown = [column for column in TABLE if any(column.when(row) for row in rows)]
    yield from warnings(rows)
    yield from (f"{column.head}\t{column.meaning}" for column in shown)
    if facts.ranks == 1:
        yield "One rank sends nothing: rates are n/a. Use more: --ranks N, or mpirun -n N."
    elif "host-memory" in facts.scopes.values():
        yield "One node: its ranks share memory, which is not a network: no claim about one."


def warnings(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each code: how many rows have it, the first of them, and what it means."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        for code in row.warnings.split():
            found.setdefault(code, []).append(row)
    for code, concerned in sorted(found.items()):
        names = ", ".join(f"{row.strategy} {format_size(row.bytes)}" for row in concerned[:ROWS_NAMED])
        more = ", …" if len(concerned) > ROWS_NAMED else ""
        yield f"{code} in {count(len(concerned), 'row')}: {names}{more}"
        yield f"\t{WARNINGS.get(code, 'this version of the report has no words for it')}"
    if found:
        yield ""
