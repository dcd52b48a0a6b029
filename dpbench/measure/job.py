"""A whole run: start MPI, plan, measure size by size, hand the rows on as soon as a size is done."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from dpbench import __version__
from dpbench.devices.hostdtype import missing_for
from dpbench.engine.signals import Signals
from dpbench.engine.world import World
from dpbench.environment import set_by_hand
from dpbench.errors import Exit, Stopped
from dpbench.measure.agree import on_root, require_no_mistake
from dpbench.measure.alike import require_alike
from dpbench.measure.background import afterwards, background
from dpbench.measure.bench import Bench
from dpbench.measure.breakdown import breakdown
from dpbench.measure.case import Case, skipped
from dpbench.measure.devices import CRASH, Chosen, Finding, choose, look_around, require
from dpbench.measure.guard import guarded
from dpbench.measure.options import Options
from dpbench.measure.output import Output, RootOutput
from dpbench.measure.plan import Layout, Plan, make_plan
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
    names = [device.name for device in chosen.devices]
    blocks = on_root(world, lambda: make_plan(options, names, Layout(world.size, world.nodes)))
    output = RootOutput(world, open_output)
    signals.last_words = output.give_up
    stages = {
        device.name: Stage(world, device, options, chosen.trusts_collectives or not device.direct)
        for device in chosen.devices
    }
    bench = Bench(world, stages, options, output.say, signals)
    calibrates = options.calibrate and world.nodes > 1
    links = {name: stage.link() for name, stage in stages.items()} if calibrates else {}
    bench.links = links
    facts = gather_facts(world, options, chosen, floor_s=bench.floor(), links=links)
    output.begin(facts, sum(map(len, blocks)), background(world, options, chosen, blocks))
    if any(device.direct for device in chosen.devices):
        output.say(CRASH)
    return size_by_size(bench, blocks, output, facts)


def size_by_size(bench: Bench, blocks: list[list[Plan]], output: RootOutput, facts: RunFacts) -> int:
    """Measure all sizes, hand the rows of each on, and return the exit code."""

    def parts(cases: list[Case]) -> list[Breakdown]:
        return [breakdown(case, make_row(case, bench.options, facts), facts) for case in cases]

    def missing(blocks: list[list[Plan]], reason: str) -> list[Breakdown]:
        return parts([skipped(plan, reason) for block in blocks for plan in block])

    codes: list[Exit | None] = []
    for done, plans in enumerate(blocks):
        bench.signals.last_words = partial(output.give_up, missing=partial(missing, blocks[done:]))
        try:
            cases = bench.measure(plans, output.step)
        except Stopped as stop:
            reason = f"stopped by {stop.name}"
            output.stop(reason, missing(blocks[done:], reason))
            return stop.code
        output.size(parts(cases))
        bench.world.where.written.append(plans[0].bytes)
        codes += map(verdict, cases)
    output.end(afterwards(bench.world, bench.options))
    return Exit.WRONG if Exit.WRONG in codes else Exit.OK if Exit.OK in codes else Exit.ENVIRONMENT


def verdict(case: Case) -> Exit | None:
    """Return what a case means for the exit code; None for one that was skipped."""
    if case.reason is not None:
        return None
    return Exit.WRONG if case.wrong else Exit.OK


def gather_facts(world: World, options: Options, chosen: Chosen, **measured: Any) -> RunFacts:
    """Return the facts of the run, with what was `measured` for them, the same on every rank."""
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
        scopes={device.name: scope for device, scope in zip(chosen.devices, chosen.scopes, strict=True)},
        dtype=options.dtype,
        seed=options.seed,
        cadence=options.cadence,
        **measured,
        notes=options.notes + set_by_hand(world.size) + chosen.notes,
    )
    shared: RunFacts = world.from_root(facts)
    return shared
