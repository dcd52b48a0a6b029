"""Measuring the cases of one size: verify, warm up, then samples in interleaved blocks."""

import random
from collections.abc import Callable
from functools import partial
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING

from dpbench.engine.signals import Signals
from dpbench.errors import Stopped
from dpbench.measure.case import Case
from dpbench.measure.options import Options
from dpbench.measure.patience import patience
from dpbench.measure.plan import Plan, most_runs
from dpbench.measure.planted import Planted, reach
from dpbench.measure.raw import gathered
from dpbench.measure.stopping import Decision, next_block, next_warmups
from dpbench.measure.streaming import STREAM, back_to_back, stream_of
from dpbench.measure.timing import no_garbage_collection, timed
from dpbench.results.link import Link
from dpbench.results.record import STREAMING
from dpbench.units import format_size

if TYPE_CHECKING:
    from dpbench.engine.world import World
    from dpbench.measure.stage import Stage

LONG = 30.0  # seconds; a case expected to take longer is announced
FLOOR_SAMPLES = 100


class Bench:
    """Measures on one rank; every method is collective."""

    def __init__(
        self,
        world: "World",
        stages: "dict[str, Stage]",
        options: Options,
        say: Callable[[str], None],
        signals: Signals,
    ) -> None:
        self.world = world
        self.stages = stages
        self.options = options
        self.say = say
        self.suffix = f" on {world.size} ranks" if options.scaling else ""  #: is said behind each size
        self.most = most_runs(options)
        self.streams = options.cadence == STREAMING
        self.signals = signals
        self.planted = Planted(world.number, world.where.size)
        self.order = random.Random(options.seed)  # the same on every rank
        self.links: dict[str, Link] = {}  #: by device, where they were measured

    def floor(self) -> float:
        """Return the time, in seconds, of an exchange of nothing: the median over samples like any other."""
        nothing = next(iter(self.stages.values())).engine.nothing()
        where = self.world.where
        where.enter("an exchange of nothing", nothing, 0, where.patience_s)
        if self.streams:
            nothing.run = partial(back_to_back, nothing.run, STREAM)
        times = self.world.maxima(timed(nothing, self.world.barrier, FLOOR_SAMPLES, where))
        return sorted(times)[len(times) // 2] / 1e9 / (STREAM if self.streams else 1)

    def measure(self, plans: list[Plan], step: Callable[[str], None]) -> list[Case]:
        """Return the finished cases of one size."""
        where = self.world.where
        most = patience(self.options, plans[0].bytes)
        where.enter(f"preparing {self.size(plans)}", None, 0, most)
        cases = [
            case
            for name, stage in self.stages.items()
            for case in stage.cases([plan for plan in plans if plan.device == name])
        ]
        running = [case for case in cases if not case.finished_at]
        for case in running:
            self.planted.plant(case)
        with no_garbage_collection():
            for case in running:
                step(self.label(case))
                self.verify(case)
                self.warm_up(case)
                if self.streams and not case.finished_at:
                    self.lengthen(case)
            while running:
                running = [case for case in running if not case.finished_at]
                for case in self.order.sample(running, len(running)):
                    self.block(case)
        for case in cases:
            if case.phases is not None:
                case.phases.finish(self.world)
            if self.options.json is not None and case.samples and not case.wrong:
                case.raw = gathered(self.world, case.own, self.options.raw == "all", case.stream)
            case.release()
        return cases

    def verify(self, case: Case) -> None:
        """Exchange once and check the result, before anything is timed; say if the case will take long."""
        seconds = self.checked(case, 1, case.own.first)[0]
        if case.phases is not None:
            case.phases.forget()  # it was no sample
        least = 1 if self.options.warmup is None else self.options.warmup
        stream = stream_of(seconds, self.options.max_time) if self.streams else 1
        expected = seconds * (least + stream * (self.options.iters or 6))
        if expected > LONG and not case.finished_at:
            self.say(f"{self.label(case)} is expected to take {expected:.0f} s")

    def warm_up(self, case: Case) -> None:
        """Exchange until warm: rank 0 decides, block by block."""
        start = perf_counter()
        while not case.finished_at:
            block = self.world.from_root(
                next_warmups(case.warmups, perf_counter() - start, self.options.max_time, self.options.warmup)
            )
            if not block:
                return
            block = min(block, self.most)
            case.result.spoil()
            self.exchange(case, block, case.own.warmups)
            case.warmups += block

    def lengthen(self, case: Case) -> None:
        """Make streams of the exchanges that follow, as long as rank 0 decides."""
        seconds = (case.own.warmups or case.own.first)[-1] / 1e9
        case.lengthen(self.world.from_root(stream_of(seconds, self.options.max_time)))

    def block(self, case: Case) -> None:
        """Take the next block of samples, or finish the case, as rank 0 decides."""
        start = perf_counter()
        block, reason = self.world.from_root(self.decide(case))
        if reason is not None:
            case.finish(reason)
            return
        case.samples += self.checked(case, block, case.own.samples)
        case.elapsed += perf_counter() - start

    def decide(self, case: Case) -> Decision | None:
        """Return rank 0's decision."""
        if self.world.rank != 0:
            return None
        usual = (case.own.warmups or case.own.first)[-1] * case.stream / 1e9
        decision = next_block(case.samples, case.elapsed, self.options.max_time, self.options.iters, usual)
        return decision._replace(block=min(decision.block, self.most))

    def checked(self, case: Case, iterations: int, own: list[int]) -> list[float]:
        """Return the maximum over ranks of each iteration, in seconds, once the last result was checked.

        The output is poisoned first, so it is the timed loop's result that is checked. A case with a wrong
        result is finished: its times would mean nothing.
        """
        case.result.spoil()
        times = self.exchange(case, iterations, own)
        if case.phases is not None:
            case.phases.add(self.world, iterations)
        if self.options.check:
            reach("checking", self.world.number, self.world.where.size)
            case.wrong = self.world.sum(case.result.count_wrong(iterations))
            if case.wrong:
                case.finish("wrong")
        return [time / 1e9 for time in times]

    def exchange(self, case: Case, iterations: int, own: list[int]) -> list[int]:
        """Return the maximum over ranks of each iteration, in nanoseconds; this rank's are added to its `own`.

        Raises Stopped, on every rank, if a signal has asked any of them to stop.
        """
        where, starts, begin = self.world.where, list[int](), perf_counter_ns()
        most = patience(self.options, case.plan.bytes, case, self.links.get(case.plan.device))
        where.enter(self.label(case), case.running, case.exchanges, most)
        times = timed(case.running, self.world.barrier, iterations, where, starts)
        if self.world.nodes == 1 and own is case.own.samples and not self.streams:
            case.spread.add(self.world, begin, starts, times)
        times = [round(time / case.stream) for time in times]
        case.exchanges = where.iteration
        own += times
        *times, number = self.world.maxima([*times, self.signals.caught])
        case.slowest = max(case.slowest, *(time / 1e9 for time in times))
        if number:
            raise Stopped(number)
        return times

    def label(self, case: Case) -> str:
        """Return strategy and size, as people read them."""
        return f"{case.plan.strategy} {self.size([case.plan])}"

    def size(self, plans: list[Plan]) -> str:
        """Return the size of some cases, as people read it."""
        return f"{format_size(plans[0].bytes)}{self.suffix}"
