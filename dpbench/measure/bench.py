"""Measuring the cases of one size: prepare, verify, warm up, then samples in interleaved blocks."""

import random
from collections.abc import Callable
from time import perf_counter
from typing import Any

from dpbench.devices.base import Device
from dpbench.dtypes import DTYPES
from dpbench.engine.build import Engine, Shape
from dpbench.engine.exchange import Exchange
from dpbench.engine.memory import Buffers
from dpbench.engine.world import World
from dpbench.errors import Unsuitable
from dpbench.measure.agree import all_or_none
from dpbench.measure.case import Case, Ports, now, skipped
from dpbench.measure.options import Options
from dpbench.measure.payload import Payload, count_wrong, fill
from dpbench.measure.plan import Plan
from dpbench.measure.stopping import Decision, enough_warmups, next_block
from dpbench.measure.timing import no_garbage_collection, timed
from dpbench.schedule.count import total, traffic, written
from dpbench.strategies.base import Roles, Scheduled
from dpbench.strategies.registry import strategies
from dpbench.units import format_size

LONG = 30.0  # seconds; a case expected to take longer is announced
FLOOR_SAMPLES = 100


class Bench:
    """Measures on one rank; every method is collective."""

    def __init__(self, world: World, device: Device, options: Options, say: Callable[[str], None]) -> None:
        self.world = world
        self.device = device
        self.options = options
        self.say = say
        self.engine = Engine(world, device)
        self.itemsize = DTYPES[options.dtype].itemsize
        self.order = random.Random(options.seed)  # the same on every rank
        self.tables: dict[range, Any] = {}
        self.payload = Payload(world.size, options.dtype, options.seed)

    def floor(self) -> float:
        """Return the time, in seconds, of an exchange of nothing: the median over samples like any other."""
        times = self.world.maxima(timed(self.engine.nothing(), self.world.barrier, FLOOR_SAMPLES))
        return sorted(times)[len(times) // 2] / 1e9

    def measure(self, plans: list[Plan], step: Callable[[str], None]) -> list[Case]:
        """Return the finished cases of one size; all work on the same buffers, allocated and filled once."""
        try:
            buffers = all_or_none(self.world, lambda: self.allocate(plans[0].count))
        except Unsuitable as reason:
            return [skipped(plan, str(reason)) for plan in plans]
        cases = [self.prepare(plan, buffers) for plan in plans]
        running = [case for case in cases if case.exchange is not None]
        with no_garbage_collection():
            for case in running:
                step(f"{case.plan.strategy} {format_size(case.plan.bytes)}")
                self.verify(case, buffers.output)
                self.warm_up(case)
            while running:
                running = [case for case in running if not case.finished_at]
                for case in self.order.sample(running, len(running)):
                    self.block(case, buffers.output)
        for case in cases:
            if case.exchange is not None:
                case.exchange.close()
        return cases

    def allocate(self, count: int) -> Buffers:
        """Return the buffers of `count` elements, the input filled. Raises Unsuitable if there is no memory."""
        buffers = Buffers(*(self.device.empty(count, self.options.dtype) for _ in Buffers._fields))
        fill(self.device, buffers.input, self.device.from_host(self.payload.table(self.world.rank)))
        return buffers

    def prepare(self, plan: Plan, buffers: Buffers) -> Case:
        """Return the case, compiled; or finished at once if it cannot run."""
        if plan.roles is None:
            return skipped(plan, str(plan.reason))
        roles, strategy = plan.roles, strategies()[plan.strategy]
        shape = Shape(
            self.options.dtype,
            self.itemsize,
            plan.count,
            plan.slices or 1,
            plan.window or 1,
            self.options.server_buffer,
        )
        case = Case(plan, started_at=now())
        try:
            case.exchange = all_or_none(
                self.world, lambda: self.engine.build(strategy, roles, shape, buffers), undo=Exchange.close
            )
        except Unsuitable as reason:
            return skipped(plan, str(reason))
        case.expected = self.expected(roles.workers)
        case.holds = [(0, plan.count)]
        if isinstance(strategy, Scheduled):
            self.count(case, strategy, roles, shape)
        return case

    def expected(self, workers: range) -> Any:
        """Return the table of the sum over `workers`, on the device."""
        if workers not in self.tables:
            self.tables[workers] = self.device.from_host(self.payload.total(workers))
        return self.tables[workers]

    def count(self, case: Case, strategy: Scheduled, roles: Roles, shape: Shape) -> None:
        """Count what every rank sends and receives, and what this one holds in the end."""
        rounds = [r for j in range(shape.slices) for r in self.engine.rounds(strategy, roles, shape, j)]
        mine = total(traffic(rounds, self.itemsize))
        sent, busiest = zip(*self.world.gather((mine.sent, mine.busiest)), strict=True)
        case.ports = Ports(sum(sent), busiest.index(max(busiest)), max(busiest))
        if self.world.rank not in roles.workers:
            case.holds = written(rounds)

    def verify(self, case: Case, output: Any) -> None:
        """Exchange once and check the result, before anything is timed; say if the case will take long."""
        seconds = self.checked(case, output, 1)[0]
        least = 1 if self.options.warmup is None else self.options.warmup
        expected = seconds * (least + (self.options.iters or 6))
        if expected > LONG and not case.finished_at:
            self.say(f"{case.plan.strategy} at {format_size(case.plan.bytes)} is expected to take {expected:.0f} s")

    def warm_up(self, case: Case) -> None:
        """Exchange until warm: rank 0 decides after each block of as many as were done before."""
        assert case.exchange is not None
        start = perf_counter()
        while not case.finished_at and not self.world.from_root(
            enough_warmups(case.warmups, perf_counter() - start, self.options.max_time, self.options.warmup)
        ):
            left = (10 if self.options.warmup is None else self.options.warmup) - case.warmups
            block = min(max(1, case.warmups), left)
            timed(case.exchange, self.world.barrier, block)
            case.warmups += block

    def block(self, case: Case, output: Any) -> None:
        """Take the next block of samples, or finish the case, as rank 0 decides."""
        start = perf_counter()
        block, reason = self.world.from_root(self.decide(case))
        if reason is not None:
            case.finish(reason)
            return
        case.samples += self.checked(case, output, block)
        case.elapsed += perf_counter() - start

    def decide(self, case: Case) -> Decision | None:
        """Return rank 0's decision."""
        if self.world.rank != 0:
            return None
        return next_block(case.samples, case.elapsed, self.options.max_time, self.options.iters)

    def checked(self, case: Case, output: Any, iterations: int) -> list[float]:
        """Return the maximum over ranks of each iteration, in seconds, once the last result was checked.

        The output is poisoned first, so it is the timed loop's result that is checked. A case with a wrong
        result is finished: its times would mean nothing.
        """
        assert case.exchange is not None
        self.device.poison(output)
        times = self.world.maxima(timed(case.exchange, self.world.barrier, iterations))
        if self.options.check:
            wrong = count_wrong(self.device, output, case.expected, case.holds)
            case.wrong = self.world.sum(wrong)
            if case.wrong:
                case.finish("wrong")
        return [time / 1e9 for time in times]
