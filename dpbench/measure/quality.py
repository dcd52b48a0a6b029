"""What a reader should doubt: the codes of warnings, when each is due, and what to do about it."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from dpbench.measure import causes
from dpbench.measure.case import Case
from dpbench.measure.causes import Cause, Measured
from dpbench.measure.statistics import summarise
from dpbench.results.doubt import Doubt
from dpbench.results.facts import RunFacts


class Check(NamedTuple):
    """When a code is due, and what to do about it."""

    cause: Callable[[Measured], Cause | None]
    advice: str


CHECKS: Mapping[str, Check] = {
    "W01": Check(causes.timer, "measure larger sizes; this clock cannot tell such times"),
    "W02": Check(causes.floor, "mostly the harness was timed: measure larger sizes"),
    "W03": Check(causes.crowded, "times include waiting for a core: start fewer ranks, or bind each to its own core"),
    "W04": Check(causes.shared_gpu, "ranks take turns and no link is measured: give each rank a GPU of its own"),
    "W05": Check(causes.skewed, "times include waiting for late ranks: measure larger sizes, look for other load"),
    "W06": Check(causes.dependent, "take the wider interval; look for other load or changing clocks; raise --max-time"),
    "W07": Check(causes.unconverged, "raise --iters or --max-time, whichever ended it, or look for other load"),
    "W08": Check(causes.slowed, "let the GPUs cool down or raise their power limit, and repeat it"),
    "W09": Check(causes.misshapen, "no one number tells this: see the samples (--json); a slow start needs --warmup"),
    "W13": Check(causes.too_fast, "the links were measured too slow, so 'of limit' means nothing: repeat it"),
    "W14": Check(causes.few, "raise --iters or --max-time"),
    "W16": Check(causes.doubtful_path, "take an MPI library that says it takes GPU memory, or --device cuda-staged"),
    "W17": Check(causes.adding, "the additions are the limit, not the links: take another --dtype, or GPUs"),
    "W18": Check(causes.interleaved, "leave out --ring-order world, or number the ranks node by node"),
}


def doubts(case: Case, facts: RunFacts) -> Iterator[Doubt]:
    """Yield the warnings of a case, by their codes; none if it was not measured or is wrong."""
    if not case.samples or case.wrong:
        return
    row = Measured(case, facts, summarise(case.samples), facts.links.get(case.plan.device))
    for code, check in CHECKS.items():
        if cause := check.cause(row):
            yield Doubt(code, cause.text, check.advice, cause.excess)
