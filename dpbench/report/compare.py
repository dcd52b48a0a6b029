"""A comparison as text: a table for each size, what was not compared, what differs, and what it all means."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap
from typing import Any

from dpbench.report.console import TAB
from dpbench.report.header import count, some
from dpbench.report.labels import OF_A_TABLE, Labels
from dpbench.report.pairtable import COLUMNS, FEW, GATED, TESTED, PairTable
from dpbench.results.compare import Comparison, launches_needed
from dpbench.results.differences import left_out, outcomes, requests
from dpbench.results.pairs import LEAST_LAUNCHES, Pair, Side, Verdict
from dpbench.text import printable
from dpbench.units import format_size

GATE = (
    "FAILED: the ratio is above 1 + tolerance, and its interval above 1. That is no verdict: launches of the same "
    "thing differ by more than their own intervals tell. A row of BASE that has no time in NEW fails too."
)
EXACT = "of the ratio, 95 %: the rank-sum test of the launches inverted, exact"
ENDS = "of the ratio, from the ends of the launches' own 95 % intervals, which know no noise between launches"


class ComparisonText:
    """The lines about a comparison, for `Screen.print`, within `width` columns where words allow it."""

    def __init__(self, found: Comparison, width: int) -> None:
        self.found, self.width = found, width
        self.labels = Labels([*found.base.rows, *found.new.rows])
        self.whole = [pair for pair in found.pairs if not pair.identity.phase]

    def lines(self) -> Iterator[Any]:
        """Yield all of it."""
        for side in (self.found.base, self.found.new):
            yield f"{side.name}\t{described(side)}"
        yield from self.entry("tolerance", tolerance(self.found))
        yield ""
        yield from self.tables()
        yield from self.listed()
        notes = [line for note in self.notes() for line in self.entry("note", note)]
        yield from (*notes, *([""] if notes else []))
        if self.whole:
            yield from (line for name, text in self.legend() for line in self.entry(name, text))
        yield from ("", self.summary())
        if lost := self.found.lost:
            names = ", ".join(map(self.labels.full, lost))
            yield from self.entry("gate", f"FAILED: {count(len(lost), 'row')} of BASE without a time in NEW: {names}")

    def entry(self, name: str, text: str) -> Iterator[str]:
        """Yield a name and what is said about it, on as many lines as it takes."""
        lines = wrap(text, max(20, self.width - TAB), break_long_words=False, break_on_hyphens=False)
        for index, line in enumerate(lines):
            yield f"{name if not index else ''}\t{line}"

    def tables(self) -> Iterator[Any]:
        """Yield a table for each size, and for each other request that rows of one size differ in."""
        columns = (*COLUMNS, *(GATED if self.found.rule.gate else TESTED if self.found.tested else FEW))
        for _, group in groupby(sorted(self.found.pairs, key=self.order), key=self.order):
            pairs = list(group)
            if title := self.labels.table(pairs[0].identity):
                yield title
            yield PairTable(pairs, [self.labels.within(pair.identity) for pair in pairs], columns)

    def order(self, pair: Pair) -> tuple[Any, ...]:
        """Return what all rows of a table share, and the tables are sorted by."""
        return pair.identity.bytes, *(getattr(pair.identity, name) for name in OF_A_TABLE)

    def listed(self) -> Iterator[str]:
        """Yield what was not compared, rows with the same reason together."""
        rows: dict[tuple[str, str], list[str]] = {}
        for left in left_out(self.found):
            part = f" ({left.launches[0]} of {left.launches[1]} launches)" if len(set(left.launches)) > 1 else ""
            rows.setdefault((left.what, left.reason), []).append(self.labels.full(left.identity) + part)
        for (what, reason), names in rows.items():
            why = f": {reason}" if reason else ""
            yield f"{what}, {count(len(names), 'row')}{why}"
            yield from self.entry("", ", ".join(names))
        if rows:
            yield ""

    def notes(self) -> Iterator[str]:
        """Yield what differs and what was seen in the files."""
        found = self.found
        yield from requests(found)
        yield from outcomes(found, self.labels.full)
        yield from dict.fromkeys((*found.base.notes, *found.new.notes))
        if both := set(found.base.launches) & set(found.new.launches):
            yield f"{launches(len(both))} on both sides, compared with itself: run {', '.join(sorted(both))}"
        yield from fewer(found, self.whole, self.labels)
        phases = [any(identity.phase for identity in side.rows) for side in (found.base, found.new)]
        if all(phases) and not found.rule.phases:
            yield "both sides have phases; --phases compares them"
        if found.rule.phases and not all(phases):
            yield "--phases: there are none on both sides"

    def legend(self) -> Iterator[tuple[str, str]]:
        """Yield what the columns mean."""
        yield "median", "of the launches' medians; one launch is one observation"
        yield "ratio", "time of NEW / time of BASE: above 1 is slower, and busbw is lower by as much"
        several = [min(pair.launches) >= LEAST_LAUNCHES for pair in self.whole]
        yield from (("interval", text) for text, told in ((EXACT, any(several)), (ENDS, not all(several))) if told)
        if self.found.rule.gate:
            yield "gate", GATE
            return
        if rows := self.found.tested:
            yield "p", f"rank-sum test of the launches, exact, two-sided, corrected for {count(rows, 'row')} (Holm)"
            yield "verdict", "slower or faster: p at most 0.05, and the ratio beyond the tolerance"
        if any(pair.verdict is Verdict.FEW for pair in self.whole):
            yield "too few", self.too_few()

    def too_few(self) -> str:
        """Return how many launches would do."""
        rows = sum(pair.verdict not in (Verdict.WRONG, Verdict.SMALL) for pair in self.whole)
        needed = launches_needed(rows)
        fewer = "; or judge fewer rows, with --from-bytes" if needed > LEAST_LAUNCHES else ""
        return (
            f"too few launches for a verdict: {count(rows, 'row')} take at least {needed} launches a side, given with "
            f"--base and --new{fewer}"
        )

    def summary(self) -> str:
        """Return the last line."""
        counts = Counter(pair.verdict.value for pair in self.whole if pair.verdict)
        return f"{count(len(self.whole), 'row')} compared" + "".join(f", {n} {what}" for what, n in counts.items())


def described(side: Side) -> str:
    """Return how many launches a side has, and where they are from."""
    return f"{launches(len(side.launches))}: {some(tuple(printable(file.path) for file in side.files))}"


def launches(number: int) -> str:
    """Return "1 launch" or "2 launches"."""
    return "1 launch" if number == 1 else f"{number} launches"


def tolerance(found: Comparison) -> str:
    """Return the rule, in words."""
    rule = found.rule
    percent = f"{float(rule.tolerance * 100):g} %"
    judged = f"; rows below {format_size(rule.from_bytes)} are not judged" if rule.from_bytes else ""
    return f"{percent}: slower above a ratio of {float(1 + rule.tolerance):g}, faster below 1 / that{judged}"


def fewer(found: Comparison, pairs: list[Pair], labels: Labels) -> Iterator[str]:
    """Yield a line for the rows that some launches lack."""
    most = (len(found.base.launches), len(found.new.launches))
    lacking = [pair for pair in pairs if pair.launches != most]
    if lacking:
        base, new = lacking[0].launches
        rest = f", and {count(len(lacking) - 1, 'more row')}" if len(lacking) > 1 else ""
        yield f"not all launches have {labels.full(lacking[0].identity)} (BASE {base}, NEW {new}){rest}"
