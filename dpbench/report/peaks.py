"""The best bandwidth of each strategy and the size that had it: a mean over sizes would mean nothing."""

from collections.abc import Sequence

from dpbench.report.columns import name_of
from dpbench.results.record import Row
from dpbench.units import format_size

UNBROKEN = "\N{NO-BREAK SPACE}"


def peaks(rows: Sequence[Row]) -> str:
    """Return the sentence, of several sizes on as many ranks whose result is right; else nothing."""
    rows = [row for row in rows if row.busbw_GB_per_s]
    if len({row.bytes for row in rows}) < 2 or len({row.ranks for row in rows}) > 1:
        return ""
    best: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row.busbw_GB_per_s or 0.0):
        best[row.strategy, row.device] = row
    several = len({row.device for row in rows}) > 1
    told = []
    for key in dict.fromkeys((row.strategy, row.device) for row in rows):
        row = best[key]
        rate = f"{row.busbw_GB_per_s:#.3g}".rstrip(".")
        told.append(f"{name_of(row, several)} {rate} at {format_size(row.bytes)}".replace(" ", UNBROKEN))
    return f"busbw, GB/s: {', '.join(told)}"
