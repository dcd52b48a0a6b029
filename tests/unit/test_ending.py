"""What the rows of a run mean for its exit code, with and without --strict."""

import pytest
from test_report import row

from dpbench.errors import DpbenchError, Exit, PlatformError, ReaderLeft, Stopped
from dpbench.measure.agree import SaidByRoot
from dpbench.measure.ending import exit_code, unhidden, why_doubtful

ROWS = {
    "ok": row("ring", 1e-3),
    "warn": row("ps", 1e-3, quality="warn", warnings="W02 W07"),
    "skipped": row("ring", quality="skipped", reason="no"),
    "invalid": row("ring", quality="invalid", wrong_elements=1),
}


@pytest.mark.parametrize(
    ("qualities", "code", "strict"),
    [
        ("ok", 0, 0),
        ("ok ok", 0, 0),
        ("ok warn", 0, 5),
        ("warn", 0, 5),
        ("ok skipped", 0, 5),
        ("ok invalid", 1, 1),
        ("warn skipped invalid", 1, 1),
        ("invalid", 1, 1),
        ("skipped", 3, 3),
        ("", 3, 3),
    ],
)
def test_strict_makes_5_of_0_only(qualities: str, code: int, strict: int) -> None:
    rows = [ROWS[name] for name in qualities.split()]
    assert exit_code(rows, strict=False) == code
    assert exit_code(rows, strict=True) == strict


@pytest.mark.parametrize(
    ("qualities", "found"),
    [
        ("ok warn", "of 2 rows 1 with warnings (W02, W07)"),
        ("ok skipped skipped", "of 3 rows 2 skipped"),
        ("warn skipped", "of 2 rows 1 with warnings (W02, W07) and 1 skipped"),
    ],
)
def test_a_sentence_says_why(qualities: str, found: str) -> None:
    rows = [ROWS[name] for name in qualities.split()]
    assert why_doubtful(rows) == f"--strict: {found}: exit code 5"
    assert Exit.DOUBTFUL == 5


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PlatformError("--csv: disk full"), 1),
        (ReaderLeft(), 1),
        (SaidByRoot(3), 1),
        (Stopped(15), 143),
        (SaidByRoot(143), 143),  # a rank outside of the part that was stopped
    ],
)
def test_lost_output_hides_no_wrong_result_and_a_signal_stays_one_on_every_rank(error: DpbenchError, code: int) -> None:
    error.agreed = True
    before = error.code
    assert unhidden(error, [ROWS["ok"]]).code == before
    assert unhidden(error, [ROWS["ok"], ROWS["invalid"]]).code == code
