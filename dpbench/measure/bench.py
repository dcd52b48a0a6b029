"""Measuring the cases of one size: verify, warm up, then samples in interleaved blocks."""

import random
from collections.abc import Callable
from time import perf_counter

from dpbench.engine.world import World
from dpbench.measure.case import Case
from dpbench.measure.options import Options
from dpbench.measure.plan import Plan, most_runs
from dpbench.measure.stage import Stage
from dpbench.measure.stopping import WARMUPS, Decision, enough_warmups, next_block
from dpbench.measure.timing import no_garbage_collection, timed
from dpbench.units import format_size

LONG = 30.0  # seconds; a case expected to take longer is announced
FLOOR_SAMPLES = 100


class Bench:
    """Measures on one rank; every method is collective."""

    def __init__(
        self, world: World, stages: dict[str, Stage], options: Options, say: Callable[[str], None]
    ) -> None:
        self.world = world
        self.stages = stages
        self.options = options
        self.say = say
        self.most = most_runs(options)
        self.order = random.Random(options.seed)  # the same on every rank

    def floor(self) -> float:
        """Return the time, in seconds, of an exchange of nothing: the median over samples like any other."""
        nothing = next(iter(self.stages.values())).engine.nothing()
        times = self.world.maxima(timed(nothing, self.world.barrier, FLOOR_SAMPLES))
        return sorted(times)[len(times) // 2] / 1e9

    def measure(self, plans: list[Plan], step: Callable[[str], None]) -> list[Case]:
        """Return the finished cases of one size."""
        cases = [
            case
            for name, stage in self.stages.items()
            for case in stage.cases([plan for plan in plans if plan.device == name])
        ]
        running = [case for case in cases if not case.finished_at]
        with no_garbage_collection():
            for case in running:
                step(f"{case.plan.strategy} {format_size(case.plan.bytes)}")
                self.verify(case)
                self.warm_up(case)
            while running:
                running = [case for case in running if not case.finished_at]
                for case in self.order.sample(running, len(running)):
                    self.block(case)
        for case in cases:
            if case.phases is not None:
                case.phases.finish(self.world)
            case.release()
        return cases

    def verify(self, case: Case) -> None:
        """Exchange once and check the result, before anything is timed; say if the case will take long."""
        seconds = self.checked(case, 1)[0]
        if case.phases is not None:
            case.phases.forget()  # it was no sample
        least = 1 if self.options.warmup is None else self.options.warmup
        expected = seconds * (least + (self.options.iters or 6))
        if expected > LONG and not case.finished_at:
            self.say(f"{case.plan.strategy} at {format_size(case.plan.bytes)} is expected to take {expected:.0f} s")

    def warm_up(self, case: Case) -> None:
        """Exchange until warm: rank 0 decides after each block of as many as were done before."""
        start = perf_counter()
        while not case.finished_at and not self.world.from_root(
            enough_warmups(case.warmups, perf_counter() - start, self.options.max_time, self.options.warmup)
        ):
            left = (WARMUPS if self.options.warmup is None else self.options.warmup) - case.warmups
            block = min(max(1, case.warmups), left, self.most)
            case.result.spoil()
            timed(case.running, self.world.barrier, block)
            case.warmups += block

    def block(self, case: Case) -> None:
        """Take the next block of samples, or finish the case, as rank 0 decides."""
        start = perf_counter()
        block, reason = self.world.from_root(self.decide(case))
        if reason is not None:
            case.finish(reason)
            return
        case.samples += self.checked(case, block)
        case.elapsed += perf_counter() - start

    def decide(self, case: Case) -> Decision | None:
        """Return rank 0's decision."""
        if self.world.rank != 0:
            return None
        decision = next_block(case.samples, case.elapsed, self.options.max_time, self.options.iters)
        return decision._replace(block=min(decision.block, self.most))

    def checked(self, case: Case, iterations: int) -> list[float]:
        """Return the maximum over ranks of each iteration, in seconds, once the last result was checked.

        The output is poisoned first, so it is the timed loop's result that is checked. A case with a wrong
        result is finished: its times would mean nothing.
        """
        case.result.spoil()
        times = self.world.maxima(timed(case.running, self.world.barrier, iterations))
        if case.phases is not None:
            case.phases.add(self.world, iterations)
        if self.options.check:
            case.wrong = self.world.sum(case.result.count_wrong(iterations))
            if case.wrong:
                case.finish("wrong")
        return [time / 1e9 for time in times]
