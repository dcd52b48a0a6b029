"""A whole run: start MPI, plan, measure size by size, hand the rows on as soon as a size is done."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from dpbench import __version__
from dpbench.devices.hostdtype import missing_for
from dpbench.engine.bell import Bell
from dpbench.engine.signals import Signals
from dpbench.engine.starting import in_time
from dpbench.engine.world import World
from dpbench.environment import set_by_hand
from dpbench.errors import DpbenchError, Exit, Stopped
from dpbench.measure.agree import in_part, on_root, require_no_mistake
from dpbench.measure.alike import require_alike
from dpbench.measure.background import afterwards, background
from dpbench.measure.bench import Bench
from dpbench.measure.breakdown import breakdown
from dpbench.measure.case import Case, skipped
from dpbench.measure.devices import CRASH, Chosen, Finding, choose, look_around, require
from dpbench.measure.groups import Group, among, make_groups
from dpbench.measure.guard import guarded
from dpbench.measure.options import Options
from dpbench.measure.output import Output, RootOutput
from dpbench.measure.rows import make_row
from dpbench.measure.stage import Stage
from dpbench.results.facts import RunFacts
from dpbench.results.phases import Breakdown
from dpbench.units import now


def run(options: Options, open_output: Callable[[], Output]) -> int:
    """Measure what `options` ask for and return the exit code, the same on every rank.

    Raises a DpbenchError, on every rank, where that cannot be done; only rank 0's has a message. Raises RankFailed
    where this rank fails by itself.
    """
    found = look_around(options.devices, options.gpu_aware)
    with in_time(options.timeout):
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
    bell = Bell(world, rings=options.csv is not None or options.json is not None)
    bell.words, signals.last_words = output.give_up, bell.ring
    codes: list[Exit | None] = []
    try:
        cases = sum(len(plans) for group in groups for plans in group.blocks)
        output.begin(facts, cases, background(world, options, chosen, groups))
        if any(device.direct for device in chosen.devices):
            output.say(CRASH)
        common = Common(options, chosen, signals)
        for index, group in enumerate(groups):
            part = world.part(group.facts.members)
            codes += in_part(world, part, partial(measure_first, groups[index:], common, output))
        output.end(afterwards(world, options))
    except DpbenchError as error:
        if error.agreed:
            output.abandon(str(error))
        raise unhidden(error, codes) from error.__cause__
    if all(code is None for code in codes):
        output.say("nothing was measured: every row was skipped, for the reason in the table")
    return Exit.WRONG if Exit.WRONG in codes else Exit.OK if Exit.OK in codes else Exit.ENVIRONMENT


def unhidden(error: DpbenchError, codes: list[Exit | None]) -> DpbenchError:
    """Return the error, which must not hide a wrong result, as the loss of some output would."""
    if error.agreed and Exit.WRONG in codes and not isinstance(error, Stopped):
        error.code = Exit.WRONG
    return error


class Common(NamedTuple):
    """What all groups have in common."""

    options: Options
    chosen: Chosen
    signals: Signals


def measure_first(groups: list[Group], common: Common, output: RootOutput, part: World) -> list[Exit | None]:
    """Measure the first of the groups, on its ranks; the others come after it. Return what each case means.

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


def size_by_size(bench: Bench, groups: list[Group], output: RootOutput) -> list[Exit | None]:
    """Measure all sizes of the first group, hand the rows of each on, and return what the cases mean.

    Raises Stopped, once all rows that are missing are marked, also those of the other groups.
    """
    group = groups[0]

    def parts(cases: list[Case], facts: RunFacts) -> list[Breakdown]:
        return [breakdown(case, make_row(case, bench.options, facts), facts) for case in cases]

    def missing(done: int, reason: str) -> list[Breakdown]:
        left = [replace(group, blocks=group.blocks[done:]), *groups[1:]]
        plans = [(plan, each.facts) for each in left for block in each.blocks for plan in block]
        return [row for plan, facts in plans for row in parts([skipped(plan, reason)], facts)]

    codes: list[Exit | None] = []
    for done, plans in enumerate(group.blocks):
        output.comes(partial(missing, done))
        try:
            cases = bench.measure(plans, output.step)
        except Stopped as stop:
            reason = f"stopped by {stop.name}"
            output.stop(reason, missing(done, reason))
            raise
        codes += map(verdict, cases)
        try:
            output.size(parts(cases, group.facts))
        except DpbenchError as error:
            raise unhidden(error, codes) from error.__cause__
        bench.world.where.written.append(bench.size(plans))
    return codes


def verdict(case: Case) -> Exit | None:
    """Return what a case means for the exit code; None for one that was skipped."""
    if case.reason is not None:
        return None
    return Exit.WRONG if case.wrong else Exit.OK


def gather_facts(world: World, options: Options, chosen: Chosen) -> RunFacts:
    """Return the facts of the run and of all its ranks, the same on every rank."""
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
        dtype=options.dtype,
        seed=options.seed,
        cadence=options.cadence,
        links={},
        floor_s=None,
        notes=options.notes + set_by_hand(world.size) + chosen.notes,
    )
    shared: RunFacts = world.from_root(among(world, options, chosen, facts, tuple(range(world.size))))
    return shared
