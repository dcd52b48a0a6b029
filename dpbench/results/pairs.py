"""Launches of two sides and the rows that both have: one launch is one observation, its median.

Launches of the same thing differ by more than the samples of one launch tell: placement, ports, memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from statistics import median

from dpbench.results.observed import Identity, Observation, ResultFile
from dpbench.results.ranksum import ratio_interval

LEAST_LAUNCHES = 4  #: on each side, for a verdict: 3 against 3 cannot reach 5 %


class Verdict(Enum):
    """What is said about a row."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no difference shown"
    FEW = "too few launches"
    SMALL = "not judged"  #: below the size from which rows are judged
    WRONG = "WRONG"  #: a wrong result among the new ones
    PASSED = "passed"  #: the gate, which is no verdict
    FAILED = "FAILED"
    BLIND = "no interval"  #: nothing that the gate could judge by


class Side:
    """All launches of one side, by what they measured."""

    def __init__(self, name: str, files: Sequence[ResultFile]) -> None:
        self.name, self.files = name, files
        self.rows: dict[Identity, dict[str, Observation]] = {}  #: of each measurement the launches, by run_id
        self.notes = [note for file in files for note in file.notes]
        repeated = 0
        for observation in (each for file in files for each in file.observations):
            launches = self.rows.setdefault(observation.identity, {})
            # The same run may be in a CSV and in a JSON document, which tells more.
            known = launches.setdefault(observation.run_id, observation)
            if known.median != observation.median:
                repeated += 1
            elif len(observation.resolved) > len(known.resolved):
                launches[observation.run_id] = observation
        if repeated:
            self.notes.append(f"{name}: {repeated} rows repeat one of the same launch with other figures: not used")

    @cached_property
    def launches(self) -> tuple[str, ...]:
        """The launches, in the order of the files."""
        return tuple(dict.fromkeys(run for launches in self.rows.values() for run in launches))

    def timed(self, identity: Identity) -> tuple[Observation, ...]:
        """Return the observations that have a time."""
        return tuple(each for each in self.rows.get(identity, {}).values() if each.timed)

    def wrong(self, identity: Identity) -> bool:
        """Return whether some launch had a wrong result."""
        return any(each.wrong for each in self.rows.get(identity, {}).values())


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A row that both sides have times of."""

    identity: Identity
    base: tuple[Observation, ...]
    new: tuple[Observation, ...]
    verdict: Verdict | None = None  #: None of a phase, which explains and is not judged
    p: Fraction | None = None  #: corrected for the number of rows

    @property
    def launches(self) -> tuple[int, int]:
        """How many launches each side has."""
        return len(self.base), len(self.new)

    @property
    def medians(self) -> tuple[list[float], list[float]]:
        """The launches' medians, of each side."""
        base, new = ([each.median or 0.0 for each in side] for side in (self.base, self.new))
        return base, new

    @cached_property
    def times(self) -> tuple[Fraction, Fraction]:
        """The medians of the launches' medians, exactly."""
        base, new = map(middle, self.medians)
        return base, new

    @property
    def ratio(self) -> Fraction:
        """Time of NEW over time of BASE: above 1 is worse, for all rates fall as the time rises."""
        return self.times[1] / self.times[0]

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the ratio: of 95 % and exact from 4 launches a side on; else what the launches' own allow.

        The latter knows nothing of the noise between launches.
        """
        if min(self.launches) >= LEAST_LAUNCHES:
            return ratio_interval(*self.medians)
        base, new = ends(self.base), ends(self.new)
        return (new[0] / base[1], new[1] / base[0]) if base and new else None

    def effect(self, tolerance: Fraction) -> Verdict | None:
        """Return SLOWER or FASTER if one side takes more than 1 + tolerance times the other; exactly that is not."""
        if self.ratio > 1 + tolerance:
            return Verdict.SLOWER
        return Verdict.FASTER if 1 / self.ratio > 1 + tolerance else None


def middle(values: Iterable[float]) -> Fraction:
    """Return the median of the decimal numbers that were read, which is what repr returns."""
    return Fraction(median(Fraction(repr(value)) for value in values))


def ends(launches: Sequence[Observation]) -> tuple[float, float] | None:
    """Return the ends of all that the launches' own intervals cover; None if one has no interval."""
    lows = [each.ci_low for each in launches if each.ci_low]
    highs = [each.ci_high for each in launches if each.ci_high]
    return (min(lows), max(highs)) if len(lows) == len(highs) == len(launches) else None
