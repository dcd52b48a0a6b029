"""A device with everything on it that the cases of one size share; it makes the cases."""

from functools import partial
from time import sleep
from typing import Any

from dpbench.devices.base import Device
from dpbench.dtypes import DTYPES
from dpbench.engine.build import LIBRARY_PHASES, Engine, Shape
from dpbench.engine.exchange import Exchange
from dpbench.engine.memory import Buffers, Weights, allocate, pair_of
from dpbench.engine.recording import Recorder
from dpbench.engine.world import World
from dpbench.errors import PlatformError, Unsuitable
from dpbench.measure.agree import all_or_none, said_by_root
from dpbench.measure.calibrate import Calibration
from dpbench.measure.case import Case, Ports, skipped
from dpbench.measure.expected import Expected, Sums, Trained
from dpbench.measure.memory import needed, require_memory
from dpbench.measure.nodes import ranks_by_node
from dpbench.measure.options import Options
from dpbench.measure.payload import Payload, fill
from dpbench.measure.phases import Phases, tell
from dpbench.measure.plan import Plan
from dpbench.measure.planted import reach
from dpbench.measure.timing import COMPUTE, LATE, ahead, busy
from dpbench.results.link import Link, Load
from dpbench.schedule.count import added, outward, total, traffic, updated, written
from dpbench.schedule.round import Round
from dpbench.strategies.base import Library, Roles, Scheduled, Strategy
from dpbench.strategies.registry import strategies
from dpbench.units import now


class Stage:
    """One device of this rank. Methods are collective."""

    def __init__(self, world: World, device: Device, options: Options, trusts_collectives: bool) -> None:
        self.world = world
        self.device = device
        self.options = options
        self.engine = Engine(
            world, device, trusts_collectives, records=options.phases, trains=options.training is not None
        )
        self.payload = Payload(world.size, options.dtype, options.seed)
        self.itemsize = DTYPES[options.dtype].itemsize
        self.tables: dict[range, Any] = {}
        self.nodes = ranks_by_node(world.leaders)
        self.here = next(frozenset(ranks) for ranks in self.nodes if world.rank in ranks)

    def cases(self, plans: list[Plan]) -> list[Case]:
        """Return the cases of one size, compiled on the same buffers; or finished at once if they cannot run."""
        if not plans:
            return []
        try:
            self.require_memory(plans)
            buffers = all_or_none(self.world, lambda: self.buffers(plans[0].count))
        except Unsuitable as reason:
            return [skipped(plan, str(reason)) for plan in plans]
        return [self.prepare(plan, buffers) for plan in plans]

    def link(self) -> Link:
        """Return what the links between the nodes allow for this device's memory."""
        try:
            calibration = all_or_none(
                self.world, lambda: Calibration(self.world, self.engine, self.options.dtype, self.itemsize)
            )
        except Unsuitable as reason:
            error = PlatformError(f"the links cannot be measured: {reason}; --calibrate 0 does without")
            raise said_by_root(self.world, error) from None
        return calibration.link()

    def require_memory(self, plans: list[Plan]) -> None:
        """Raise Unsuitable, on every rank, if a host has not the memory for a size."""
        if not self.device.direct:  # a GPU refuses what it does not have, a host does not
            require_memory(
                self.world,
                needed(
                    plans,
                    self.world.rank,
                    trains=self.options.training is not None,
                    itemsize=self.itemsize,
                    server_buffer=self.options.server_buffer,
                ),
            )

    def buffers(self, count: int) -> Buffers:
        """Return the buffers of `count` elements, the input filled. Raises Unsuitable if there is no memory."""
        reach("building", self.world.number, self.world.where.size)
        dtype, training = self.options.dtype, self.options.training
        buffers = Buffers(*pair_of(self.device, count, dtype))
        if training is not None:
            weights = Weights(*allocate(self.device, count, dtype), training.rate)
            buffers = buffers._replace(weights=weights)
        fill(self.device, buffers.input.array, self.device.from_host(self.payload.table(self.world.rank)))
        return buffers

    def prepare(self, plan: Plan, buffers: Buffers) -> Case:
        """Return the case of a plan."""
        if plan.roles is None:
            return skipped(plan, str(plan.reason))
        roles, strategy = plan.roles, strategies()[plan.strategy]
        shape = self.shape(plan)
        try:
            if isinstance(strategy, Library) and not self.device.direct:
                require_memory(self.world, plan.bytes)  # the library needs room of its own
            exchange = all_or_none(
                self.world, lambda: self.engine.build(strategy, roles, shape, buffers), undo=Exchange.close
            )
        except Unsuitable as reason:
            return skipped(plan, str(reason))
        self.delay(exchange, roles)
        case = Case(plan, now(), exchange)
        rounds = self.rounds(strategy, roles, shape)
        case.expected = self.expected(rounds, roles, buffers)
        if rounds is not None:
            case.ports = self.ports(rounds)
        if exchange.recorder is not None:
            case.phases = self.phases(rounds, roles, exchange.recorder)
        return case

    def rounds(self, strategy: Strategy, roles: Roles, shape: Shape) -> list[Round] | None:
        """Return the rounds of this rank, of all slices; None where there is no schedule."""
        if not isinstance(strategy, Scheduled):
            return None
        return [each for j in range(shape.slices) for each in self.engine.rounds(strategy, roles, shape, j)]

    def delay(self, exchange: Exchange, roles: Roles) -> None:
        """Make workers compute before the exchange, and the rank that is to be late to it."""
        training = self.options.training
        if training is not None and training.compute and self.world.rank in roles.workers:
            exchange.run = ahead(exchange.run, COMPUTE, partial(busy, training.compute), exchange.recorder)
        rank, seconds = self.options.straggler or (None, 0)
        if rank == self.world.number:
            exchange.run = ahead(exchange.run, LATE, partial(sleep, seconds), exchange.recorder)

    def shape(self, plan: Plan) -> Shape:
        """Return how the gradient of a plan is laid out and cut."""
        return Shape(
            self.options.dtype,
            self.itemsize,
            plan.count,
            plan.slices or 1,
            plan.window or 1,
            self.options.server_buffer,
        )

    def expected(self, rounds: list[Round] | None, roles: Roles, buffers: Buffers) -> Expected:
        """Return what this rank must hold in the end: all of it on a worker, else what its rounds write."""
        everything = [(0, len(buffers.output.array))]
        works = rounds is None or self.world.rank in roles.workers
        if buffers.weights is None:
            ranges = everything if works else written(rounds or [])
            return Sums(self.device, buffers.output.array, self.total(roles.workers), ranges)
        ranges = everything if works else written(rounds or [], "weights")
        own = everything if rounds is None else updated(rounds)
        start, total = self.payload.weights(), self.payload.total(roles.workers)
        return Trained(self.device, buffers, start, total, ranges=ranges, own=own)

    def total(self, workers: range) -> Any:
        """Return the table of the sum over `workers`, on the device."""
        if workers not in self.tables:
            self.tables[workers] = self.device.from_host(self.payload.total(workers))
        return self.tables[workers]

    def ports(self, rounds: list[Round]) -> Ports:
        """Return what all ranks send and receive, counted."""
        mine = total(traffic(rounds, self.itemsize))
        outside = total(traffic(outward(rounds, self.here), self.itemsize))
        counted = (mine.sent, mine.busiest, outside.sent, outside.received, added(rounds) * self.itemsize)
        sent, busiest, out, back, sums = zip(*self.world.gather(counted), strict=True)
        nodes = [max(sum(out[r] for r in ranks), sum(back[r] for r in ranks)) for ranks in self.nodes]
        load = Load(rank=max(*out, *back), node=max(nodes), added=max(sums))
        return Ports(sum(sent), busiest.index(max(busiest)), max(busiest), load)

    def phases(self, rounds: list[Round] | None, roles: Roles, recorder: Recorder) -> Phases:
        """Return the phases of all ranks, counted."""
        told = self.world.gather(tell(rounds or [], self.itemsize, self.here))
        computes = self.options.training is not None and self.options.training.compute > 0
        before = [LATE] * (self.options.straggler is not None) + [COMPUTE] * computes
        before += LIBRARY_PHASES if rounds is None else ()
        return Phases(told, roles, self.nodes, recorder, before)
