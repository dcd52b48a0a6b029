"""A whole run: start MPI, plan, measure size by size, hand the rows on as soon as a size is done."""

import uuid
from collections.abc import Callable
from functools import partial

from dpbench import __version__
from dpbench.devices.hostdtype import missing_for
from dpbench.engine.bell import Bell
from dpbench.engine.signals import Signals
from dpbench.engine.starting import in_time
from dpbench.engine.world import World
from dpbench.environment import set_by_hand
from dpbench.errors import DpbenchError, Exit
from dpbench.measure.agree import in_part, on_root, require_no_mistake
from dpbench.measure.alike import require_alike
from dpbench.measure.background import afterwards, background
from dpbench.measure.devices import CRASH, Chosen, Finding, choose, look_around, require
from dpbench.measure.ending import exit_code, unhidden, why_not_ok
from dpbench.measure.groups import Group, among, make_groups
from dpbench.measure.guard import guarded
from dpbench.measure.mismatch import mismatches
from dpbench.measure.options import Options
from dpbench.measure.output import Output, RootOutput
from dpbench.measure.sizes import Common, measure_first, missing
from dpbench.measure.timer import Timer
from dpbench.results.facts import RunFacts
from dpbench.results.record import Row
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
    rows: list[Row] = []
    try:
        output.comes(partial(missing, groups, options))
        cases = sum(len(plans) for group in groups for plans in group.blocks)
        output.begin(facts, cases, background(world, options, chosen, groups))
        if any(device.direct for device in chosen.devices):
            output.say(CRASH)
        common = Common(options, chosen, signals)
        for index, group in enumerate(groups):
            part = world.part(group.facts.members)
            rows += in_part(world, part, partial(measure_first, groups[index:], common, output))
        output.end(afterwards(world, options))
    except DpbenchError as error:
        if error.agreed:
            output.abandon(str(error))
        raise unhidden(error, rows) from error.__cause__
    code: Exit = world.from_root(exit_code(rows, options.strict))
    if why := why_not_ok(rows, code):
        output.say(why)
    return code


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
        notes=options.notes + set_by_hand(world.size) + mismatches(world) + chosen.notes,
    )
    shared: RunFacts = world.from_root(among(world, options, chosen, facts, tuple(range(world.size))))
    return shared
