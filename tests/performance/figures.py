"""Figures beside their targets, as one table."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.console import Console
from rich.table import Table


class Line(NamedTuple):
    """A figure beside its target: at most, or at least, so much; None where there is none."""

    what: str
    figure: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def verdict(self) -> str:
        if self.at_most is None and self.at_least is None:
            return ""
        good = self.figure <= (self.at_most or self.figure) and self.figure >= (self.at_least or self.figure)
        return "PASS" if good else "MISS"

    @property
    def target(self) -> str:
        bounds = (("<=", self.at_most), (">=", self.at_least))
        return " ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)


def report(title: str, lines: Iterable[Line]) -> int:
    """Print a table of the lines; return 1 if a target was missed."""
    table = Table("what", "figure", "unit", "target", "", title=title, title_justify="left")
    found = []
    for line in lines:
        found.append(line)
        table.add_row(line.what, f"{line.figure:.3g}", line.unit, line.target, line.verdict)
    Console(width=110).print(table)
    return int("MISS" in [line.verdict for line in found])
