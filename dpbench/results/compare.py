"""Two sets of launches compared, row by row: what may be said about each, and what must not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb

from dpbench.results.observed import Identity
from dpbench.results.pairs import LEAST_LAUNCHES, Pair, Side, Verdict
from dpbench.results.ranksum import holm, least_p, p_value
from dpbench.units import format_size

SIGNIFICANT = Fraction(5, 100)
WORSE = {Verdict.SLOWER, Verdict.WRONG, Verdict.FAILED}
UNJUDGED = {None, Verdict.SMALL, Verdict.BLIND}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """By what rows are judged."""

    tolerance: Fraction = Fraction(5, 100)
    from_bytes: int = 0
    gate: bool = False  #: for one launch against a baseline
    phases: bool = False


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What came out: the rows that both sides have times of, the smaller sizes first."""

    base: Side
    new: Side
    rule: Rule
    pairs: tuple[Pair, ...]

    @property
    def worse(self) -> bool:
        """Whether something got worse: slower, or wrong."""
        return any(pair.verdict in WORSE for pair in self.pairs) or any(map(self.new.wrong, self.new.rows))

    @property
    def lost(self) -> tuple[Identity, ...]:
        """The rows that the gate misses: BASE has a time of them, and NEW has none."""
        if not self.rule.gate:
            return ()
        judged = (each for each in self.base.rows if not each.phase and each.bytes >= self.rule.from_bytes)
        return tuple(each for each in judged if self.base.timed(each) and not self.new.timed(each))

    @property
    def empty(self) -> bool:
        """Whether there was nothing to judge."""
        return all(pair.verdict in UNJUDGED for pair in self.pairs)

    @property
    def why_empty(self) -> str:
        """Why there was nothing to judge."""
        silent = [side.name for side in (self.base, self.new) if not side.rows]
        if silent:
            return f"{' and '.join(silent)} {'have' if len(silent) > 1 else 'has'} no rows"
        if any(pair.verdict is Verdict.BLIND for pair in self.pairs):
            return "no row has an interval on both sides, which takes 6 samples"
        if self.pairs:
            return f"all rows that both sides have times of are below {format_size(self.rule.from_bytes)}"
        return "there is no row that both sides have a time of"

    @property
    def tested(self) -> int:
        """How many rows have launches enough to be tested; each p is corrected for so many."""
        return sum(pair.p is not None for pair in self.pairs)


def compare(base: Side, new: Side, rule: Rule) -> Comparison:
    """Pair the rows and judge each."""
    both = [each for each in base.rows if each in new.rows and (rule.phases or not each.phase)]
    places = {each: place for place, each in enumerate(base.rows)}

    def order(pair: Pair) -> tuple[int, int]:
        whole = pair.identity._replace(phase="")
        return pair.identity.bytes, places.get(whole, places[pair.identity])

    pairs = [Pair(identity=each, base=base.timed(each), new=new.timed(each)) for each in both]
    ordered = sorted((pair for pair in pairs if all(pair.launches)), key=order)
    judged = gated(ordered, rule) if rule.gate else tested(ordered, rule, new)
    final = (replace(pair, verdict=settled(pair, rule, new)) for pair in judged)
    return Comparison(base=base, new=new, rule=rule, pairs=tuple(final))


def settled(pair: Pair, rule: Rule, new: Side) -> Verdict | None:
    """Return what is said of a row: whatever its times are, if it is wrong, too small to be judged, or a phase."""
    if pair.identity.phase:
        return None
    if new.wrong(pair.identity):
        return Verdict.WRONG
    return Verdict.SMALL if pair.identity.bytes < rule.from_bytes else pair.verdict


def gated(pairs: Sequence[Pair], rule: Rule) -> list[Pair]:
    """Return the pairs as the gate sees them: FAILED if NEW takes longer than allowed, and the intervals part."""

    def seen(pair: Pair) -> Verdict:
        if pair.interval is None:
            return Verdict.BLIND
        failed = pair.interval[0] > 1 and pair.effect(rule.tolerance) is Verdict.SLOWER
        return Verdict.FAILED if failed else Verdict.PASSED

    return [replace(pair, verdict=seen(pair)) for pair in pairs]


def tested(pairs: Sequence[Pair], rule: Rule, new: Side) -> list[Pair]:
    """Return the pairs with their verdicts: the rank-sum test of the launches, and an effect above the tolerance.

    A row about which not even the clearest launches could say anything, so many rows there are, has too few.
    """
    few = [replace(pair, verdict=Verdict.FEW) for pair in pairs]
    places = [index for index, pair in enumerate(few) if settled(pair, rule, new) is Verdict.FEW and testable(pair)]
    found = holm([p_value(*few[index].medians) for index in places])
    clearest = holm([least_p(*few[index].launches) for index in places])
    for index, p, least in zip(places, found, clearest, strict=True):
        verdict = Verdict.FEW
        if least <= SIGNIFICANT:
            verdict = (few[index].effect(rule.tolerance) if p <= SIGNIFICANT else None) or Verdict.SAME
        few[index] = replace(few[index], verdict=verdict, p=p)
    return few


def testable(pair: Pair) -> bool:
    """Return whether there are launches enough for a test."""
    return min(pair.launches) >= LEAST_LAUNCHES


def launches_needed(rows: int) -> int:
    """Return the fewest launches a side with which a verdict on one of so many rows is possible."""
    needed = LEAST_LAUNCHES
    while 2 * rows > SIGNIFICANT * comb(2 * needed, needed):
        needed += 1
    return needed
