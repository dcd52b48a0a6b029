"""What a reader should doubt: conditions under which a row says less than it seems to."""

from collections.abc import Iterator

from dpbench.measure.case import Case
from dpbench.measure.statistics import summarise
from dpbench.measure.stopping import LEAST_SAMPLES, PRECISION
from dpbench.results.facts import RunFacts
from dpbench.results.link import addition_s, limit_s

MOST_OF_LIMIT = 1.05  #: nothing beats the wire: beyond, the calibration is wrong (ours)
FLOORS = 10  #: times the floor that a median should take: MPIPerf's check against its null pattern


def warnings(case: Case, facts: RunFacts) -> Iterator[str]:
    """Yield the warning codes of a case that was measured and is right."""
    summary = summarise(case.samples)
    if summary.median < FLOORS * (facts.floor_s or 0.0):
        yield "W02"
    if facts.crowded:
        yield "W03"
    if case.stop_reason in ("time", "samples") and not summary.is_precise(PRECISION):
        yield "W07"
    link = facts.links.get(case.plan.device)
    if link and case.ports:
        if limit_s(case.ports.load, link) > MOST_OF_LIMIT * summary.median:
            yield "W13"
        if addition_s(case.ports.load, link) > limit_s(case.ports.load, link):
            yield "W17"
    if summary.n < LEAST_SAMPLES:
        yield "W14"
