"""The types of option values: each turns a text into a value or says what is allowed."""

import math
from collections.abc import Callable
from typing import Any

import click

from dpbench import units
from dpbench.errors import UsageError


class Value(click.ParamType):  # type: ignore[type-arg]  # generic only in newer versions
    """A type whose `parse` raises UsageError; the message gets the option's name from Click."""

    def __init__(self, name: str) -> None:
        self.name = name

    def parse(self, text: str) -> Any:
        """Return what `text` means."""
        raise NotImplementedError

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse what was typed; a default that is no text is already a value."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


class Size(Value):
    """A number of bytes, at least `least`."""

    def __init__(self, least: int = 0) -> None:
        super().__init__("SIZE")
        self.least = least

    def parse(self, text: str) -> int:
        """Return the bytes."""
        size = units.parse_size(text)
        if size < self.least:
            raise UsageError(f"{text!r} is too small: at least {self.least}")
        return size


class SizeList(Value):
    """Sizes with commas between them."""

    def parse(self, text: str) -> tuple[int, ...]:
        """Return the sizes, in bytes, as typed."""
        return tuple(units.parse_size(item) for item in text.split(","))


class Whole(Value):
    """A whole number, at least `least`; `word` is allowed too and stands for None."""

    MOST = 10**9

    def __init__(self, name: str, least: int, word: str | None = None, most: int | None = None) -> None:
        super().__init__(name)
        self.least = least
        self.word = word
        self.most = most or self.MOST

    def parse(self, text: str) -> int | str:
        """Return the number, or the word."""
        typed = text.strip().lower()
        if typed == self.word:
            return typed
        is_number = typed.isascii() and typed.isdigit() and len(typed) < 20
        if is_number and self.least <= int(typed) <= self.most:
            return int(typed)
        words = f"{self.word}, or " if self.word else ""
        raise UsageError(f"{text!r} is not allowed: {words}a whole number from {self.least} to {self.most}")


class RankCounts(Value):
    """Numbers of ranks with commas between them, or the word for the powers of 2."""

    POWERS = "pow2"

    def parse(self, text: str) -> tuple[int, ...] | str:
        """Return the numbers, ascending, or the word."""
        if text.strip().lower() == self.POWERS:
            return self.POWERS
        counts = []
        for item in text.split(","):
            typed = item.strip()
            if not (typed.isascii() and typed.isdigit() and len(typed) < 10 and int(typed) >= 2):
                allowed = f"numbers of ranks from 2 on, as 2,4,8, or {self.POWERS} alone"
                raise UsageError(f"{item!r} is not allowed: {allowed}")
            counts.append(int(typed))
        twice = next((count for count in counts if counts.count(count) > 1), None)
        if twice is not None:
            raise UsageError(f"{text!r} names {twice} twice")
        return tuple(sorted(counts))


class Switch(Value):
    """0 or 1."""

    def __init__(self) -> None:
        super().__init__("0|1")

    def parse(self, text: str) -> bool:
        """Return whether it is 1."""
        if text.strip() not in ("0", "1"):
            raise UsageError(f"{text!r} is not allowed: 0 or 1")
        return text.strip() == "1"


class Above(Value):
    """A finite number above a limit."""

    MOST = 1e9

    def __init__(self, name: str, limit: float) -> None:
        super().__init__(name)
        self.limit = limit

    def parse(self, text: str) -> float:
        """Return the number."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (self.limit < number <= self.MOST):
            raise UsageError(f"{text!r} is not allowed: a number above {self.limit:g}, at most {self.MOST:g}")
        return number


class Time(Value):
    """A time, in seconds; 0 is none."""

    def __init__(self) -> None:
        super().__init__("TIME")

    def parse(self, text: str) -> float:
        """Return the seconds."""
        return 0.0 if text.strip() in ("0", "0s") else units.parse_time(text)


class Numbered(Value):
    """A number and what goes with it, with a colon between them."""

    def __init__(self, name: str, read: Callable[[str], float], example: str) -> None:
        super().__init__(name)
        self.read = read
        self.example = example

    def parse(self, text: str) -> tuple[int, float]:
        """Return the number and the value."""
        number, colon, rest = text.partition(":")
        if not colon or not (number.strip().isascii() and number.strip().isdigit()) or len(number) > 9:
            raise UsageError(f"{text!r} is not allowed: {self.name}, such as {self.example}")
        return int(number), self.read(rest)


class OnlyValue(Value):
    """An option that people's scripts carry; dpbench accepts the one value that means what it does anyway."""

    def __init__(self, name: str, only: str, instead: str) -> None:
        super().__init__(name)
        self.only = only
        self.instead = instead

    def parse(self, text: str) -> str:
        """Return the one value."""
        if text.strip().lower() != self.only:
            raise UsageError(f"{text!r} is not allowed, only {self.only}: {self.instead}")
        return self.only
