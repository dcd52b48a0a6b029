"""Sizes, rates, times and shares: what is accepted, and its value."""

from fractions import Fraction

import pytest

from dpbench.errors import UsageError
from dpbench.units import LARGEST_SIZE, format_size, format_time, parse_rate, parse_share, parse_size, parse_time

SIZES = {
    "0": 0,
    "8": 8,
    "8B": 8,
    "8G": 8 * 2**30,
    "8g": 8 * 2**30,
    "8GiB": 8 * 2**30,
    "8gib": 8 * 2**30,
    "8GB": 8 * 10**9,
    "4k": 4096,
    "4KB": 4000,
    "1T": 2**40,
    "1tb": 10**12,
    "0.5M": 2**19,
    ".5M": 2**19,
    "1.5KB": 1500,
    "1e6": 10**6,
    "1E+6": 10**6,
    "1e3K": 1024000,
    "2560e-1": 256,
    "2 M": 2**21,
    "  2\tM ": 2**21,
    "4194304T": LARGEST_SIZE,
}


@pytest.mark.parametrize(("text", "value"), SIZES.items())
def test_a_size_has_one_value(text: str, value: int) -> None:
    assert parse_size(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "banana", "K", "4KK", "4Kib/s", "1K2", "1 2", "1e", "5.", "1_000", "0x10", "1,5K", "٣"),
        *("nan", "inf", "-inf", "-1", "+1", "0.3", "1.0001K", "1e-1"),
        *("9e99", "1e999999999", "9" * 5000, "4194305T"),
    ],
)
def test_anything_else_is_no_size(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_size(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("200mbit", 25e6),
        ("200Mbit/s", 25e6),
        ("1Gbit/s", 125e6),
        ("1 Gbps", 125e6),
        ("8bit", 1.0),
        ("25GB/s", 25e9),
        ("0.5kB/s", 500.0),
        ("2.5e3B/s", 2500.0),
    ],
)
def test_a_rate_is_bytes_per_second(text: str, value: float) -> None:
    assert parse_rate(text) == value


@pytest.mark.parametrize(
    "text", ["", "5", "5K", "0mbit", "-1mbit", "gbit", "25gb/s", "nanmbit", "1e999999999bit"]
)
def test_anything_else_is_no_rate(text: str) -> None:
    with pytest.raises(UsageError):
        parse_rate(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (4096, "4 KiB"),
        (1536, "1536 B"),
        (2**20, "1 MiB"),
        (3 * 2**19, "1536 KiB"),
        (3_700_000, "3700000 B"),
        (LARGEST_SIZE, "4 EiB"),
    ],
)
def test_a_size_is_shown_exactly(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.000 ns"),
        (1.5e-8, "15.00 ns"),
        (1.23456e-6, "1.235 us"),
        (1.23456e-5, "12.35 us"),
        (9.9996e-4, "1.000 ms"),
        (9.9994e-4, "999.9 us"),
        (0.25, "250.0 ms"),
        (1.0, "1.000 s"),
        (99.996, "100.0 s"),
        (12345.6, "12350 s"),
    ],
)
def test_a_time_has_four_significant_digits(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("20ms", 0.02), ("1.5 s", 1.5), ("50us", 5e-5), ("7µs", 7e-6), ("1e2ns", 1e-7)]
)
def test_times_have_a_unit(text: str, seconds: float) -> None:
    assert parse_time(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["20", "ms", "0s", "-1s", "nan s", "1 min", "inf", "1e999s", "1e-99s", "3601s"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        parse_time(text)


@pytest.mark.parametrize("text", ["5%", "0.05", ".05", "5 %", " 5% ", "5e-2", "50e-1%", "0.5e1%"])
def test_a_share_has_one_exact_value(text: str) -> None:
    assert parse_share(text) == Fraction(1, 20)


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("0%", 0), ("1", 1), ("100%", 1)])
def test_a_share_is_from_nothing_to_all(text: str, value: int) -> None:
    assert parse_share(text) == value


@pytest.mark.parametrize("text", ["", "%", "5", "1.01", "101%", "-5%", "+5%", "5%%", "five", "nan", "inf", "5,5%"])
def test_anything_else_is_no_share(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_share(text)
    assert repr(text) in str(caught.value)
    assert "5% or 0.05" in str(caught.value)
