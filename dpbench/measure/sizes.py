"""Ranks that measure together: their links first, then their cases size by size."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from dpbench.engine.signals import Signals
from dpbench.engine.world import World
from dpbench.errors import DpbenchError, Stopped
from dpbench.measure.bench import Bench
from dpbench.measure.breakdown import breakdown
from dpbench.measure.case import Case, skipped
from dpbench.measure.clocks import Clocks
from dpbench.measure.devices import Chosen
from dpbench.measure.ending import unhidden
from dpbench.measure.groups import Group
from dpbench.measure.options import Options
from dpbench.measure.output import RootOutput
from dpbench.measure.quality import doubts
from dpbench.measure.rows import make_row
from dpbench.measure.stage import Stage
from dpbench.results.facts import RunFacts
from dpbench.results.phases import Breakdown
from dpbench.results.record import Row


class Common(NamedTuple):
    """What all groups have in common."""

    options: Options
    chosen: Chosen
    signals: Signals


def measure_first(groups: list[Group], common: Common, output: RootOutput, part: World) -> list[Row]:
    """Measure the first of the groups, on its ranks; the others come after it. Return the rows.

    The links too are measured by these ranks: what a node's port gives depends on how many of its ranks are
    active, what a network gives on how many of its nodes are.
    """
    options, chosen, signals = common
    output = output.among(part)
    stages = {
        device.name: Stage(part, device, options, chosen.trusts_collectives or not device.direct)
        for device in chosen.devices
    }
    bench = Bench(part, stages, options, output.say, signals)
    if options.calibrate and part.nodes > 1:
        bench.links = {name: stage.link() for name, stage in stages.items()}
    found = replace(groups[0].facts, crowded=part.crowded, floor_s=bench.floor(), links=bench.links)
    facts: RunFacts = part.from_root(found)
    output.group(facts)
    return size_by_size(bench, [replace(groups[0], facts=facts), *groups[1:]], output)


def size_by_size(bench: Bench, groups: list[Group], output: RootOutput) -> list[Row]:
    """Measure all sizes of the first group, hand the rows of each on, and return them.

    Raises Stopped, once all rows that are missing are marked, also those of the other groups.
    """
    group, options = groups[0], bench.options
    rows: list[Row] = []
    clocks = Clocks(bench.world, any(stage.device.name != "cpu" for stage in bench.stages.values()))
    for done, plans in enumerate(group.blocks):
        left = partial(missing, [replace(group, blocks=group.blocks[done:]), *groups[1:]], options)
        output.comes(left)
        try:
            cases = bench.measure(plans, output.step)
        except Stopped as stop:
            reason = f"stopped by {stop.name}"
            output.stop(reason, left(reason))
            raise
        clocks.note(cases)
        found = [reported(case, options, group.facts) for case in cases]
        rows += [each.row for each in found]
        try:
            output.size(found)
        except DpbenchError as error:
            raise unhidden(error, rows) from error.__cause__
        bench.world.where.written.append(bench.size(plans))
    return rows


def missing(groups: list[Group], options: Options, reason: str) -> list[Breakdown]:
    """Return the rows of all cases of some groups, skipped for a reason."""
    cases = [(skipped(plan, reason), group.facts) for group in groups for block in group.blocks for plan in block]
    return [reported(case, options, facts) for case, facts in cases]


def reported(case: Case, options: Options, facts: RunFacts) -> Breakdown:
    """Return a case as it is reported."""
    found = tuple(doubts(case, facts))
    return breakdown(case, make_row(case, options, facts, found), facts, found)
