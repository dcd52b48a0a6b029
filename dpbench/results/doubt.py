"""What a reader should doubt about a row."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Doubt:
    """A warning: why, with the figures of its row, and what to do about it."""

    code: str
    cause: str
    advice: str
    excess: float = 1.0  #: how many times beyond its threshold the figure is: tells the worst row
