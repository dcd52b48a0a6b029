"""Rows as the lines of a CSV: every row is one line, so that a file that was cut short shows where."""

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

from dpbench.results.record import COLUMNS

LINE_BREAKS = str.maketrans({"\n": r"\n", "\r": r"\r"})


def encode(rows: Iterable[Iterable[Any]]) -> bytes:
    """Return the rows as UTF-8 lines. What is not measured or not defined is empty: never nan or inf."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    # A file name in the command may hold bytes that are no text: escaped, not lost.
    return text.getvalue().encode("utf-8", errors="backslashreplace")


def cell(value: Any) -> Any:
    """Return the value as csv should write it; a float keeps all its digits, whatever the locale."""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return value.translate(LINE_BREAKS) if isinstance(value, str) else value


def mended(data: bytes) -> tuple[int, bytes]:
    """Return how many bytes of a file stay, and what must follow them before the next row.

    The last line may lack its end: a whole row gets it, one that was cut short while it was written goes.
    """
    begin = data.rfind(b"\n") + 1
    last = data[begin:]
    return (len(data), b"\n") if is_whole(last) else (begin, b"")


def is_whole(line: bytes) -> bool:
    """Return whether a line without its end is a row."""
    try:
        fields = next(csv.reader([line.decode(errors="replace")]))
    except csv.Error:  # a machine that lost power may leave zeros
        return False
    return len(fields) == len(COLUMNS) and line.count(b'"') % 2 == 0


HEADER = encode([COLUMNS])
