"""Sizes, rates, times and shares as people write and read them: one parser for each."""

import re
import time
from collections.abc import Iterable
from datetime import datetime, timezone
from fractions import Fraction

from dpbench.errors import UsageError

LARGEST_SIZE = 2**62  #: offsets and sums of two sizes stay within 64 bits

# Few enough digits that Fraction stays small: "1e999999999" must not be computed.
NUMBER = r"([0-9]{1,25}(?:\.[0-9]{1,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?"
SIZE = re.compile(NUMBER + r"\s*([a-zA-Z]*)")
# "gb/s" is no rate: nobody can tell whether it means bits or bytes.
RATE = re.compile(NUMBER + r"\s*([kmgtKMGT]?)(?:([bB]it(?:/s|ps)?|bps)|B(?:/s|ps)?)")
TIME = re.compile(NUMBER + r"\s*(ns|us|µs|ms|s)")
SHARE = re.compile(NUMBER + r"\s*(%?)")

SIZE_UNITS = {"": 1, "b": 1} | {
    f"{letter}{ending}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for ending, base in (("", 1024), ("ib", 1024), ("b", 1000))
}
RATE_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
TIME_UNITS = {"ns": 10**-9, "us": 10**-6, "µs": 10**-6, "ms": 10**-3, "s": 1}

A_SIZE = "write bytes as 4096, 4K or 4KiB (by 1024) or 4KB (by 1000), up to T"
A_RATE = "write bits as 200mbit or 1Gbit/s, or bytes as 25GB/s; powers of 1000"
SHORTEST_TIME, LONGEST_TIME = 0.999e-9, 3600
A_TIME = "write it with its unit, as 20ms, 1.5s or 50us"
A_SHARE = "write 5% or 0.05, at most 100%"


def parse_size(text: str) -> int:
    """Return the bytes that `text` means, in any case: `K`, `KiB` and so on count by 1024, `KB` by 1000.

    Raises UsageError if it is no size, no whole number of bytes, or above `LARGEST_SIZE`.
    """
    match = SIZE.fullmatch(text.strip())
    unit = SIZE_UNITS.get(match[3].lower()) if match else None
    if not match or unit is None:
        raise UsageError(f"{text!r} is not a size; {A_SIZE}")
    size = Fraction(match[1] + (match[2] or "")) * unit
    if size > LARGEST_SIZE:
        raise UsageError(f"{text!r} is too large: a size is at most {format_size(LARGEST_SIZE)}")
    if size.denominator != 1:
        raise UsageError(f"{text!r} is not a whole number of bytes; {A_SIZE}")
    return int(size)


def parse_rate(text: str) -> float:
    """Return the bytes per second that `text` means; prefixes count by 1000.

    Raises UsageError if it is no rate or not above 0.
    """
    match = RATE.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a rate; {A_RATE}")
    prefix, bits = RATE_PREFIXES[match[3].lower()], bool(match[4])
    rate = Fraction(match[1] + (match[2] or "")) * prefix / (8 if bits else 1)
    if not rate:
        raise UsageError(f"{text!r} is not a rate: it must be above 0")
    return float(rate)


def parse_time(text: str) -> float:
    """Return the seconds that `text` means. Raises UsageError if it is no time, or below 1 ns or above an hour."""
    match = TIME.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a time; {A_TIME}")
    seconds = float(match[1] + (match[2] or "")) * TIME_UNITS[match[3]]
    if not SHORTEST_TIME <= seconds <= LONGEST_TIME:
        raise UsageError(f"{text!r} is not a time here: from 1 ns to {LONGEST_TIME} s")
    return seconds


def parse_share(text: str) -> Fraction:
    """Return the part of a whole that `text` means, exactly: `5%` and `0.05` are the same.

    Raises UsageError if it is none, or above the whole: `5` would be 500 %, which nobody means.
    """
    match = SHARE.fullmatch(text.strip())
    share = Fraction(match[1] + (match[2] or "")) / (100 if match[3] else 1) if match else None
    if share is None or share > 1:
        raise UsageError(f"{text!r} is not a share; {A_SHARE}")
    return share


def format_size(size: int) -> str:
    """Return `size` bytes in the largest binary unit that is exact: `4 KiB`, `1 MiB`, `3700000 B`."""
    unit = "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if not size or size % 1024:
            break
        size, unit = size // 1024, larger
    return f"{size} {unit}"


def format_time(seconds: float) -> str:
    """Return `seconds` with 4 significant digits in the unit that suits it: `12.34 us`."""
    rounded = float(f"{seconds:.3e}")  # first, so that 999.96 us becomes 1.000 ms
    scales = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    unit = next((unit for unit, scale in scales.items() if abs(rounded) * scale >= 1), "ns")
    value = rounded * scales[unit]
    whole_digits = len(str(int(abs(value))))
    return f"{value:.{max(0, 4 - whole_digits)}f} {unit}"


def time_text(seconds: float) -> str:
    """Return `seconds` as tables and sentences show them: `12.34 µs`."""
    return format_time(seconds).replace("us", "µs")


def format_numbers(values: Iterable[int]) -> str:
    """Return the numbers, sorted, neighbours together: `0-3,5`."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def now() -> str:
    """Return the time of day: UTC, ISO 8601."""
    return datetime.fromtimestamp(time.time(), timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
