"""What the rows of a run mean for its exit code."""

from collections.abc import Sequence

from dpbench.errors import DpbenchError, Exit
from dpbench.results.record import Row

OUTPUT_LOST = (Exit.ENVIRONMENT, Exit.READER_LEFT)


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


def unhidden(error: DpbenchError, rows: Sequence[Row]) -> DpbenchError:
    """Return the error, which must not hide a wrong result, as the loss of some output would."""
    if error.agreed and error.code in OUTPUT_LOST and exit_code(rows, strict=False) == Exit.WRONG:
        error.code = Exit.WRONG
    return error


def why_not_ok(rows: Sequence[Row], code: Exit) -> str | None:
    """Return, in a sentence, why a run whose rows are all right does not end with 0."""
    if code == Exit.ENVIRONMENT:
        return "nothing was measured: every row was skipped, for the reason in the table"
    return why_doubtful(rows) if code == Exit.DOUBTFUL else None


def why_doubtful(rows: Sequence[Row]) -> str:
    """Return, in a sentence, why a strict run ends with exit code 5."""
    warned = [row for row in rows if row.quality == "warn"]
    skipped = sum(row.quality == "skipped" for row in rows)
    codes = ", ".join(sorted({code for row in warned for code in row.warnings.split()}))
    found = [f"{len(warned)} with warnings ({codes})"] if warned else []
    found += [f"{skipped} skipped"] if skipped else []
    return f"--strict: of {len(rows)} rows {' and '.join(found)}: exit code {Exit.DOUBTFUL:d}"
