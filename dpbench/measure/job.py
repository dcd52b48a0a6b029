"""A whole run: start MPI, plan, measure size by size, hand the rows on as soon as a size is done."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from dpbench import __version__
from dpbench.devices.hostdtype import missing_for
from dpbench.engine.signals import Signals
from dpbench.engine.world import World
from dpbench.environment import set_by_hand
from dpbench.errors import Exit, Stopped
from dpbench.measure.agree import in_part, on_root, require_no_mistake
from dpbench.measure.alike import require_alike
from dpbench.measure.background import afterwards, background
from dpbench.measure.bench import Bench
from dpbench.measure.breakdown import breakdown
from dpbench.measure.case import Case, skipped
from dpbench.measure.clocks import Clocks
from dpbench.measure.devices import CRASH, Chosen, Finding, choose, look_around, require
from dpbench.measure.ending import exit_code, why_doubtful
from dpbench.measure.groups import Group, among, make_groups
from dpbench.measure.guard import guarded
from dpbench.measure.options import Options
from dpbench.measure.output import Output, RootOutput
from dpbench.measure.quality import doubts
from dpbench.measure.rows import make_row
from dpbench.measure.stage import Stage
from dpbench.measure.timer import Timer
from dpbench.results.facts import RunFacts
from dpbench.results.phases import Breakdown
from dpbench.results.record import Row
from dpbench.units import now


def run(options: Options, open_output: Callable[[], Output]) -> int:
    """Measure what `options` ask for and return the exit code, the same on every rank.

    Raises a DpbenchError, on every rank, where that cannot be done; only rank 0's has a message. Raises RankFailed
    where this rank fails by itself.
    """
    found = look_around(options.devices, options.gpu_aware)
    require_no_mistake()  # other ranks may have made one
    world = World()
    with guarded(world.where, options) as signals:
        return measured(world, options, open_output, found, signals)


def measured(
    world: World, options: Options, open_output: Callable[[], Output], found: Finding, signals: Signals
) -> int:
    """Measure, from the first agreement to the last row."""
    require_alike(world, options)
    require(world, f"--dtype {options.dtype}", missing_for(options.dtype))
    chosen = choose(world, options.devices, options.gpu_aware, found)
    facts = gather_facts(world, options, chosen)
    groups: list[Group] = on_root(world, lambda: make_groups(world, options, chosen, facts))
    output = RootOutput(world, open_output)
    signals.last_words = output.give_up
    cases = sum(len(plans) for group in groups for plans in group.blocks)
    output.begin(facts, cases, background(world, options, chosen, groups))
    if any(device.direct for device in chosen.devices):
        output.say(CRASH)
    rows: list[Row] = []
    common = Common(options, chosen, signals)
    for index, group in enumerate(groups):
        part = world.part(group.facts.members)
        rows += in_part(world, part, partial(measure_first, groups[index:], common, output))
    output.end(afterwards(world, options))
    code = exit_code(rows, options.strict)
    if code == Exit.DOUBTFUL:
        output.say(why_doubtful(rows))
    return world.from_root(code)  # type: ignore[no-any-return]


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
    group = groups[0]

    def parts(cases: list[Case], facts: RunFacts) -> list[Breakdown]:
        return [reported(case, bench.options, facts) for case in cases]

    def missing(done: int, reason: str) -> list[Breakdown]:
        left = [replace(group, blocks=group.blocks[done:]), *groups[1:]]
        plans = [(plan, each.facts) for each in left for block in each.blocks for plan in block]
        return [row for plan, facts in plans for row in parts([skipped(plan, reason)], facts)]

    rows: list[Row] = []
    clocks = Clocks(bench.world, any(stage.device.name != "cpu" for stage in bench.stages.values()))
    for done, plans in enumerate(group.blocks):
        bench.signals.last_words = partial(output.give_up, missing=partial(missing, done))
        try:
            cases = bench.measure(plans, output.step)
        except Stopped as stop:
            reason = f"stopped by {stop.name}"
            output.stop(reason, missing(done, reason))
            raise
        clocks.note(cases)
        found = parts(cases, group.facts)
        output.size(found)
        bench.world.where.written.append(bench.size(plans))
        rows += [each.row for each in found]
    return rows


def reported(case: Case, options: Options, facts: RunFacts) -> Breakdown:
    """Return a case as it is reported."""
    found = tuple(doubts(case, facts))
    return breakdown(case, make_row(case, options, facts, found), facts, found)


def gather_facts(world: World, options: Options, chosen: Chosen) -> RunFacts:
    """Return the facts of the run and of all its ranks, the same on every rank."""
    clock = Timer(*world.maxima(list(Timer.of())))
    facts = RunFacts(
        run_id=uuid.uuid4().hex[:12],
        version=__version__,
        command=options.command,
        started_at=now(),
        mpi_library=world.library,
        thread_level=world.thread_level,
        ranks=world.size,
        hosts=world.hosts,
        crowded=world.crowded,
        scopes={},
        paths=chosen.paths,
        dtype=options.dtype,
        seed=options.seed,
        cadence=options.cadence,
        links={},
        floor_s=None,
        timer_overhead_s=clock.overhead / 1e9,
        timer_resolution_s=clock.resolution / 1e9,
        notes=options.notes + set_by_hand(world.size) + chosen.notes,
    )
    shared: RunFacts = world.from_root(among(world, options, chosen, facts, tuple(range(world.size))))
    return shared
