"""When a row is to be doubted, with the figures: a function and a threshold for each code of a warning."""

from math import ceil
from typing import NamedTuple

from dpbench.measure.case import Case
from dpbench.measure.dependence import widening
from dpbench.measure.shape import modes, slow_lead
from dpbench.measure.statistics import Summary
from dpbench.measure.stopping import ENOUGH_SAMPLES, LEAST_SAMPLES, MOST_SAMPLES, PRECISION
from dpbench.results.facts import RunFacts
from dpbench.results.link import Link, addition_s, limit_s
from dpbench.units import time_text as time

READINGS = 20  #: of the clock that a median lasts: they cost it 5 % (Hoefler & Belli, SC15, section 4.2.1)
STEPS = 10  #: of the clock that a median lasts: it is known to a tenth (the same)
FLOORS = 10  #: times the floor that a median takes: MPIPerf's check against its null pattern
SKEW = 0.05  #: of the median, by which ranks start apart: a barrier is enough while this is small (ReproMPI); ours
SURELY = 3.1**0.5  #: widening that 1 of 1000 independent series exceeds: chi-squared with 9 degrees of freedom, over 9
DEPENDENT = 2 * PRECISION  #: half the widened interval, of the median: more than a narrow interval may hide; ours
ASKED = 4 * PRECISION  #: half the interval, of the median, where the number of samples was asked for; ours
MOST_OF_LIMIT = 1.05  #: nothing beats the wire: beyond, the calibration is wrong; ours
SPREAD = 0.5  #: of the median, between the quartiles: pyperf's 50 %, which it allows the extremes
APART = 1.2  #: slower mode over the faster: 4 times the interval that is aimed at, on either side; ours
MODE = 0.25  #: of the samples, in the smaller mode: one that is smaller leaves the quartiles alone; ours
VALLEY = 0.1  #: of the smaller mode, in the middle third between the modes: a single hill has 0.3 and more; ours
LEAD = 1.1  #: median of the first samples over the median of all; ours


class Measured(NamedTuple):
    """A case that was measured and is right."""

    case: Case
    facts: RunFacts
    summary: Summary
    link: Link | None

    @property
    def median(self) -> float:
        """Its time."""
        return self.summary.median

    @property
    def unconverged(self) -> bool:
        """Whether the interval is wide; or missing, unless only a few samples were asked for."""
        asked, half = self.case.stop_reason == "iters", self.summary.half_width
        return not asked if half is None else half > (ASKED if asked else PRECISION)


class Cause(NamedTuple):
    """Why a code is due: a sentence, and how many times beyond its threshold the figure is."""

    text: str
    excess: float = 1.0


def timer(row: Measured) -> Cause | None:
    """W01: the clock is slow or coarse."""
    overhead, resolution = row.facts.timer_overhead_s, row.facts.timer_resolution_s
    needed = max(READINGS * overhead, STEPS * resolution) / row.case.stream
    if row.median >= needed:
        return None
    clock = f"one reading takes {time(overhead)}, its least step is {time(resolution)}"
    return Cause(f"median {time(row.median)} is little for this clock: {clock}", over(needed, row.median))


def floor(row: Measured) -> Cause | None:
    """W02: hardly more than an exchange of nothing."""
    floor_s = row.facts.floor_s or 0.0
    needed = FLOORS * floor_s
    if row.median >= needed:
        return None
    text = f"median {time(row.median)} is under {FLOORS} times the floor of {time(floor_s)}"
    return Cause(text, over(needed, row.median))


def crowded(row: Measured) -> Cause | None:
    """W03: ranks share cores."""
    return Cause(row.facts.crowded) if row.facts.crowded else None


def shared_gpu(row: Measured) -> Cause | None:
    """W04: ranks share a GPU, or have but a part of one."""
    sharing = row.facts.sharing if row.case.plan.device != "cpu" else ()
    return Cause("; ".join(sharing)) if sharing else None


def skewed(row: Measured) -> Cause | None:
    """W05: the ranks start too far apart."""
    skew = row.case.skew
    if skew is None or skew <= SKEW * row.median:
        return None
    share = over(skew, row.median)
    text = f"ranks left the barrier {time(skew)} apart, {percent(share)} of the median {time(row.median)}"
    return Cause(text, share / SKEW)


def dependent(row: Measured) -> Cause | None:
    """W06: the interval is narrow only because samples are alike that follow each other."""
    half = row.summary.half_width
    if half is None or row.unconverged:  # a wide interval is told of already
        return None
    wider = widening(row.case.samples, row.median)
    if wider <= SURELY or half * wider <= DEPENDENT:
        return None
    text = f"samples drift or come in runs: ±{percent(half)} of the median is rather ±{percent(half * wider)}"
    return Cause(text, half * wider / DEPENDENT)


def unconverged(row: Measured) -> Cause | None:
    """W07: the interval is wide."""
    if not row.unconverged:
        return None
    n, half = row.summary.n, row.summary.half_width
    if half is None:
        return Cause(f"{n} samples and no interval when the time was used up")
    enough = n * (half / PRECISION) ** 2  # the interval narrows with the square root
    text = f"±{percent(half)} of the median instead of ±{percent(PRECISION)} after {n:,} samples: "
    if row.case.stop_reason == "iters":
        text += "--iters asked for no more"
    elif n < ENOUGH_SAMPLES:
        text += f"the time sufficed for fewer than {ENOUGH_SAMPLES}"
    elif enough > MOST_SAMPLES:
        text += f"noise, {MOST_SAMPLES:,} samples would not do"
    else:
        text += f"some {enough:,.0f} might do, with --max-time {ceil(row.case.elapsed / n * enough)}"
    return Cause(text, half / PRECISION)


def slowed(row: Measured) -> Cause | None:
    """W08: a GPU was held back."""
    return Cause(row.case.slowed) if row.case.slowed else None


def misshapen(row: Measured) -> Cause | None:
    """W09: the median does not stand for the samples: two modes, a slow start, or a wide spread."""
    samples, summary = row.case.samples, row.summary
    if summary.n < ENOUGH_SAMPLES:
        return None
    lead = slow_lead(samples, summary.p75)
    if lead is not None and lead > LEAD * row.median:
        return Cause(f"slow start: the first samples took {time(lead)}, all {time(row.median)}", lead / row.median)
    two = modes(samples)
    if two and two.high >= APART * two.low and two.smaller >= MODE and two.between <= VALLEY:
        faster, slower = percent(1 - two.slower), percent(two.slower)
        text = f"two modes: {faster} of the samples take about {time(two.low)}, {slower} about {time(two.high)}"
        return Cause(text, two.high / two.low)
    spread = over(summary.p75 - summary.p25, row.median)
    if spread > SPREAD and not row.unconverged:
        text = f"wide spread: half the samples lie outside {time(summary.p25)} to {time(summary.p75)}"
        return Cause(text, spread / SPREAD)
    return None


def too_fast(row: Measured) -> Cause | None:
    """W13: faster than the links were measured to be."""
    limit = limit_s(row.case.ports.load, row.link) if row.link and row.case.ports else 0.0
    text = f"median {time(row.median)} is less than the {time(limit)} that the measured links allow"
    return Cause(text, over(limit, row.median)) if limit > MOST_OF_LIMIT * row.median else None


def few(row: Measured) -> Cause | None:
    """W14: no interval."""
    n = row.summary.n
    return Cause(f"{n} of the {LEAST_SAMPLES} samples that an interval needs") if n < LEAST_SAMPLES else None


def doubtful_path(row: Measured) -> Cause | None:
    """W16: a GPU was to be measured, and it is not known that its memory is what travels."""
    return Cause(why) if (why := row.facts.paths.get(row.case.plan.device)) else None


def adding(row: Measured) -> Cause | None:
    """W17: the links are not what limits the row."""
    if not row.link or not row.case.ports:
        return None
    additions, limit = addition_s(row.case.ports.load, row.link), limit_s(row.case.ports.load, row.link)
    if additions <= limit:
        return None
    text = f"the busiest rank's additions take {time(additions)}, the links need {time(limit)}"
    return Cause(text, over(additions, limit))


def interleaved(row: Measured) -> Cause | None:
    """W18: the ring comes back to nodes that it has left."""
    roles, crossings, nodes = row.case.plan.roles, row.facts.crossings, len(row.facts.hosts)
    if not roles or not roles.ring or crossings <= nodes:
        return None
    return Cause(f"the ring crosses nodes in {crossings} hops, where {nodes} would do", crossings / nodes)


def over(value: float, base: float) -> float:
    """Return the quotient, also of a clock that stood still."""
    return value / base if base else float("inf")


def percent(share: float) -> str:
    """Return a share as people read it."""
    return f"{100 * share:.{1 if share < 0.1 else 0}f} %"
