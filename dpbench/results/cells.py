"""From the cells of one row, of a CSV or a JSON document, to what a launch observed."""

import math
import re
from collections.abc import Mapping
from typing import Any

from dpbench.results.observed import Identity, Observation
from dpbench.results.record import WHOLE
from dpbench.text import printable
from dpbench.units import LARGEST_SIZE

INTEGER = re.compile(r"\s*[0-9]{1,20}\s*")
DECIMAL = re.compile(r"\s*[0-9.]{1,40}(?:[eE][+-]?[0-9]{1,3})?\s*")

MEASURED = ("run_id", "quality", "time_median_s", "time_ci_low_s", "time_ci_high_s")
RESOLVED = ("scope", "slices", "window", "mpi_library", "dpbench_version", "seed", "command")
NEEDED = tuple(name for name in Identity._fields if name != "phase") + MEASURED

Record = Mapping[str, Any]


class Damaged(Exception):
    """A file, or a row of it, is not what dpbench writes; the message says in what."""


def observation(record: Record, whole: Identity | None, facts: Mapping[str, str]) -> Observation:
    """Return what a row says; `whole` is of the row that it is a phase of, if it is one, `facts` are of its run.

    Raises Damaged if a cell is missing or malformed, or the interval does not lie around the median.
    """
    low, median, high = (real(record, name) for name in ("time_ci_low_s", "time_median_s", "time_ci_high_s"))
    if low is not None and median is not None and high is not None and not low <= median <= high:
        raise Damaged(f"the interval from {low:g} to {high:g} s does not hold its median, {median:g} s")
    return Observation(
        identity=identity(record, whole),
        run_id=given(record, "run_id"),
        quality=given(record, "quality"),
        median=median,
        ci_low=low,
        ci_high=high,
        reason=text(record, "reason"),
        resolved={name: text(record, name) for name in RESOLVED} | dict(facts),
    )


def identity(record: Record, whole: Identity | None) -> Identity:
    """Return what a row is a measurement of."""
    found = Identity(
        strategy=given(record, "strategy"),
        operation=given(record, "operation"),
        bytes=counted(record, "bytes"),
        dtype=given(record, "dtype"),
        ranks=counted(record, "ranks"),
        workers=integer(record, "workers"),
        nodes=counted(record, "nodes"),
        device=text(record, "device"),
        cadence=text(record, "cadence"),
        servers=integer(record, "servers"),
        dedicated=integer(record, "dedicated"),
        slices_requested=text(record, "slices_requested"),
        thread_level=text(record, "thread_level"),
    )
    if found.operation in WHOLE or whole is None:
        return found
    return found._replace(operation=whole.operation, phase=found.operation)


def text(record: Record, name: str) -> str:
    """Return a cell as text; nothing is an empty one."""
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise Damaged(f"{name} is neither a text nor a number")
    return printable(str(value))


def given(record: Record, name: str) -> str:
    """Return a cell that must not be empty."""
    value = text(record, name)
    if not value:
        raise Damaged(f"{name} is empty")
    return value


def integer(record: Record, name: str) -> int | None:
    """Return a cell as a whole number, None if it is empty."""
    value = record.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, str) and INTEGER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or not 0 <= value <= LARGEST_SIZE:
        raise Damaged(f"{name} is {shown(value)}, which is no whole number from 0 on")
    return int(value)


def counted(record: Record, name: str) -> int:
    """Return a whole number that must not be missing."""
    value = integer(record, name)
    if value is None:
        raise Damaged(f"{name} is empty")
    return value


def real(record: Record, name: str) -> float | None:
    """Return a cell as a time, None if it is empty: never nan, infinite or below 0."""
    value = record.get(name)
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str) and DECIMAL.fullmatch(value):
            value = float(value)
        if isinstance(value, int | float) and 0 <= value < math.inf:
            return float(value)
    except (ValueError, OverflowError):  # 1.2.3, or more digits than a float holds
        pass
    raise Damaged(f"{name} is {shown(value)}, which is no time")


def shown(value: object) -> str:
    """Return a value for a message, however long it is."""
    content = repr(value) if isinstance(value, str | float) else f"a {type(value).__name__}"
    return printable(content if len(content) < 40 else content[:36] + "...")
