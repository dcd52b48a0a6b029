"""A device with everything on it that the cases of one size share; it makes the cases."""

from typing import Any

from dpbench.devices.base import Device
from dpbench.dtypes import DTYPES
from dpbench.engine.build import Engine, Shape
from dpbench.engine.exchange import Exchange
from dpbench.engine.hosts import available_memory
from dpbench.engine.memory import Buffers, allocate
from dpbench.engine.world import World
from dpbench.errors import Unsuitable
from dpbench.measure.agree import all_or_none
from dpbench.measure.calibrate import Calibration
from dpbench.measure.case import Case, Ports, now, skipped
from dpbench.measure.nodes import ranks_by_node
from dpbench.measure.options import Options
from dpbench.measure.payload import Payload, fill
from dpbench.measure.phases import Phases, tell
from dpbench.measure.plan import Plan
from dpbench.measure.timing import late
from dpbench.results.link import Link, Load
from dpbench.schedule.count import added, outward, total, traffic, written
from dpbench.strategies.base import Roles, Scheduled
from dpbench.strategies.registry import strategies


class Stage:
    """One device of this rank. Methods are collective."""

    def __init__(self, world: World, device: Device, options: Options, trusts_collectives: bool) -> None:
        self.world = world
        self.device = device
        self.options = options
        self.engine = Engine(world, device, trusts_collectives, records=options.phases)
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
            all_or_none(self.world, lambda: self.require_memory(plans[0].bytes))
            buffers = all_or_none(self.world, lambda: self.buffers(plans[0].count))
        except Unsuitable as reason:
            return [skipped(plan, str(reason)) for plan in plans]
        return [self.prepare(plan, buffers) for plan in plans]

    def link(self) -> Link:
        """Return what the links between the nodes allow for this device's memory."""
        return Calibration(self.world, self.engine, self.options.dtype, self.itemsize).link()

    def require_memory(self, nbytes: int) -> None:
        """Raise Unsuitable if the node's ranks together need more memory than it has: it would kill one of them."""
        needed = len(self.here) * len(Buffers._fields) * nbytes
        available = available_memory()
        if self.device.name == "cpu" and available is not None and needed > available:
            host = self.world.host(self.world.rank)
            raise Unsuitable(f"{host} has {available / 1e9:.3g} GB of memory left, its ranks need {needed / 1e9:.3g}")

    def buffers(self, count: int) -> Buffers:
        """Return the buffers of `count` elements, the input filled. Raises Unsuitable if there is no memory."""
        buffers = Buffers(*(allocate(self.device, count, self.options.dtype) for _ in Buffers._fields))
        fill(self.device, buffers.input.array, self.device.from_host(self.payload.table(self.world.rank)))
        return buffers

    def prepare(self, plan: Plan, buffers: Buffers) -> Case:
        """Return the case of a plan."""
        if plan.roles is None:
            return skipped(plan, str(plan.reason))
        roles, strategy = plan.roles, strategies()[plan.strategy]
        shape = self.shape(plan)
        try:
            exchange = all_or_none(
                self.world, lambda: self.engine.build(strategy, roles, shape, buffers), undo=Exchange.close
            )
        except Unsuitable as reason:
            return skipped(plan, str(reason))
        self.delay(exchange)
        case = Case(plan, now(), self.device, exchange, buffers.output.array, self.expected(roles.workers))
        case.holds = [(0, plan.count)]
        if isinstance(strategy, Scheduled):
            self.count(case, strategy, roles, shape)
        return case

    def delay(self, exchange: Exchange) -> None:
        """Make the exchange late on the rank that is to be."""
        rank, seconds = self.options.straggler or (None, 0)
        if rank == self.world.rank:
            exchange.run = late(exchange.run, seconds)

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

    def expected(self, workers: range) -> Any:
        """Return the table of the sum over `workers`, on the device."""
        if workers not in self.tables:
            self.tables[workers] = self.device.from_host(self.payload.total(workers))
        return self.tables[workers]

    def count(self, case: Case, strategy: Scheduled, roles: Roles, shape: Shape) -> None:
        """Count what every rank sends and receives, and what this one holds in the end."""
        rounds = [r for j in range(shape.slices) for r in self.engine.rounds(strategy, roles, shape, j)]
        mine = total(traffic(rounds, self.itemsize))
        outside = total(traffic(outward(rounds, self.here), self.itemsize))
        counted = (mine.sent, mine.busiest, outside.sent, outside.received, added(rounds) * self.itemsize)
        sent, busiest, out, back, sums = zip(*self.world.gather(counted), strict=True)
        nodes = [max(sum(out[r] for r in ranks), sum(back[r] for r in ranks)) for ranks in self.nodes]
        load = Load(rank=max(*out, *back), node=max(nodes), added=max(sums))
        case.ports = Ports(sum(sent), busiest.index(max(busiest)), max(busiest), load)
        if self.world.rank not in roles.workers:
            case.holds = written(rounds)
        if recorder := case.running.recorder:
            told = self.world.gather(tell(rounds, self.itemsize, self.here))
            case.phases = Phases(told, roles, self.nodes, recorder)
