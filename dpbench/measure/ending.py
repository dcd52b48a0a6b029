"""What the rows of a run mean for its exit code."""

from collections.abc import Sequence

from dpbench.errors import Exit
from dpbench.results.record import Row


def exit_code(rows: Sequence[Row], strict: bool) -> Exit:
    """Return the exit code: a wrong row outranks everything, and a run without a measured row is none.

    With `strict` what would be a success is none if a row has a warning, or was skipped.
    """
    found = {row.quality for row in rows}
    if "invalid" in found:
        return Exit.WRONG
    if not found & {"ok", "warn"}:
        return Exit.ENVIRONMENT
    return Exit.DOUBTFUL if strict and found != {"ok"} else Exit.OK


def why_doubtful(rows: Sequence[Row]) -> str:
    """Return, in a sentence, why a strict run ends with exit code 5."""
    warned = [row for row in rows if row.quality == "warn"]
    skipped = sum(row.quality == "skipped" for row in rows)
    codes = ", ".join(sorted({code for row in warned for code in row.warnings.split()}))
    found = [f"{len(warned)} with warnings ({codes})"] if warned else []
    found += [f"{skipped} skipped"] if skipped else []
    return f"--strict: of {len(rows)} rows {' and '.join(found)}: exit code {Exit.DOUBTFUL:d}"
