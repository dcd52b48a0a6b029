"""From a finished case and its row to its phases, as they are reported."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from dpbench.measure.case import Case
from dpbench.measure.phases import Phases
from dpbench.measure.rows import times
from dpbench.measure.statistics import summarise
from dpbench.results.doubt import Doubt
from dpbench.results.facts import RunFacts
from dpbench.results.metric import rates
from dpbench.results.phases import Breakdown, Phase, Port
from dpbench.results.record import Row
from dpbench.schedule.count import Traffic


def breakdown(case: Case, row: Row, facts: RunFacts, doubts: Iterable[Doubt] = ()) -> Breakdown:
    """Return the row of a case with its phases, and what its warnings say."""
    phases = case.phases
    if phases is None:
        return Breakdown(row=row, raw=case.raw, doubts=tuple(doubts))
    link = facts.links.get(case.plan.device)
    return Breakdown(
        row=row,
        phases=tuple(phase(phases, name, row, facts) for name in phases.names),
        crossing_bytes=sum(out.sent for ranks in phases.counts.values() for _, out in ranks),
        link=link.rank if link else None,
        raw=case.raw,
        doubts=tuple(doubts),
    )


def phase(phases: Phases, name: str, row: Row, facts: RunFacts) -> Phase:
    """Return a phase of a row, or its additions."""
    medians = phases.medians.get(name, []) if row.time_median_s is not None else []  # a wrong result has no times
    summary = summarise(phases.samples[name]) if medians else None
    travels = name in phases.counts
    found = bytes_of(phases, name) if travels else Bytes()
    busiest = found.busiest_rank
    numbered = found._replace(busiest_rank=None if busiest is None else facts.number(busiest))
    own = replace(
        row,
        operation=name,
        **times(summary),
        **numbered._asdict(),
        algbw_GB_per_s=rates(row.bytes, summary.median, row.ranks, 0).algbw if summary and travels else None,
        busbw_GB_per_s=None,
        limit_s=None,
        limit_fraction=None,
    )
    return Phase(
        row=own,
        within=name == phases.additions,
        least_s=min(medians, default=None),
        most_s=max(medians, default=None),
        busiest=port(phases, name, busiest, own.time_median_s),
        worker=port(phases, name, median_worker(phases, name) if travels else None, own.time_median_s),
    )


class Bytes(NamedTuple):
    """The columns of what a phase sends; none for additions, which send nothing."""

    total_bytes: int | None = None
    busiest_rank: int | None = None
    busiest_rank_bytes: int | None = None
    busiest_node_bytes: int | None = None


def bytes_of(phases: Phases, name: str) -> Bytes:
    """Return what a phase sends."""
    ports = [everything.busiest for everything, _ in phases.counts[name]]
    nodes = [sum((phases.counts[name][rank][1] for rank in ranks), Traffic()) for ranks in phases.nodes]
    return Bytes(
        total_bytes=sum(everything.sent for everything, _ in phases.counts[name]),
        busiest_rank=ports.index(max(ports)),
        busiest_rank_bytes=max(ports),
        busiest_node_bytes=max(node.busiest for node in nodes) if len(nodes) > 1 else None,
    )


def median_worker(phases: Phases, name: str) -> int:
    """Return the worker with the median port; of those that do not serve, if there are some."""
    workers = [rank for rank in phases.roles.workers if rank not in phases.roles.servers] or phases.roles.workers
    ranks = sorted(workers, key=lambda rank: phases.counts[name][rank][0].busiest)
    return ranks[(len(ranks) - 1) // 2]


def port(phases: Phases, name: str, rank: int | None, seconds: float | None) -> Port | None:
    """Return a rank's port."""
    if rank is None:
        return None
    everything, outside = phases.counts[name][rank]
    return Port(rank, everything.sent, everything.received, outside.busiest, seconds)
