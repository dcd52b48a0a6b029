"""From options to cases: every row of the run is known, and checked, before anything is allocated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dpbench.dtypes import DTYPES
from dpbench.engine.slicing import slicing
from dpbench.errors import Unsuitable, UsageError
from dpbench.measure.options import Options
from dpbench.measure.stopping import MOST_SAMPLES
from dpbench.results.record import STREAMING
from dpbench.schedule.count import total, traffic
from dpbench.strategies.base import Library, Roles, Scheduled
from dpbench.strategies.registry import strategies

IN_PLACE = "works in place: back to back it would sum sums; take mpi-out"
MOST_STEPS = 1000  #: after which weights are compared with those of one process: it takes it some milliseconds


class Layout(NamedTuple):
    """How many ranks, on how many nodes, in which order along a ring."""

    ranks: int
    nodes: int
    ring: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """One case: a strategy at a size. Without `roles` it is skipped, for the reason given."""

    strategy: str
    device: str
    bytes: int
    count: int  #: elements
    roles: Roles | None
    slices: int | None = None  #: None where there is no schedule to slice
    window: int | None = None
    reason: str | None = None


def make_plan(options: Options, devices: Sequence[str], layout: Layout) -> list[list[Plan]]:
    """Return the cases, size by size. Raises UsageError where the options do not suit the number of ranks."""
    check_servers(options.servers, options.dedicated, layout.ranks)
    return [
        [
            plan_case(options, name, device, size, layout)
            for device in devices
            for name in options.strategies
        ]
        for size in options.sizes
    ]


def check_servers(servers: int | None, dedicated: bool, ranks: int) -> None:
    """Raise UsageError if there cannot be so many servers."""
    most = ranks - dedicated
    if most < 1:
        raise UsageError("--dedicated-servers needs at least 2 ranks, one to serve and one to work; start more")
    if (servers or 0) > most:
        others = ", one of which has to work" if dedicated else ""
        raise UsageError(f"--servers {servers} is too many: at most {most} where {ranks} ranks take part{others}")


def most_runs(options: Options) -> int:
    """Return after how many runs at most the result is compared: weights must not leave what their type holds."""
    dtype, training = DTYPES[options.dtype], options.training
    if training is None or dtype.most is None:
        return MOST_SAMPLES
    return int(min(MOST_STEPS, (dtype.most / dtype.exact - 1) / training.rate))  # they begin below `exact`


def plan_case(options: Options, name: str, device: str, size: int, layout: Layout) -> Plan:
    """Return the case of strategy `name` at `size` bytes."""
    strategy = strategies()[name]
    count = size // DTYPES[options.dtype].itemsize
    try:
        roles = strategy.roles(layout.ranks, options.servers, options.dedicated)
    except Unsuitable as reason:
        return Plan(name, device, size, count, None, reason=str(reason))
    if strategy.ordered:
        roles = replace(roles, ring=layout.ring)
    if not isinstance(strategy, Scheduled):
        adds_up = isinstance(strategy, Library) and strategy.in_place and options.cadence == STREAMING
        return Plan(name, device, size, count, None if adds_up else roles, reason=IN_PLACE if adds_up else None)
    messages = max(messages_of(strategy, roles, rank, count) for rank in (0, layout.ranks - 1))  # a server, a worker
    overlap = strategy.overlap(roles) if layout.nodes > 1 else None
    slices, window = slicing(
        size, strategy.pieces(roles), messages, overlap, slices=options.slices and min(options.slices, max(1, count)),
        window=options.window,
    )
    return Plan(name, device, size, count, roles, slices, window)


def messages_of(strategy: Scheduled, roles: Roles, rank: int, count: int) -> int:
    """Return how many messages `rank` sends and receives in one slice of `count` elements."""
    mine = total(traffic(strategy.rounds(rank, roles, 0, count), itemsize=1))
    return mine.messages_sent + mine.messages_received
