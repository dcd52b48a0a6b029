"""The measuring loop on ranks that are threads, each with a clock of its own that only its exchanges move."""

import threading
from collections.abc import Sequence
from statistics import mean, median
from types import SimpleNamespace
from typing import Any

import pytest
from test_report import FACTS
from threadedworld import ThreadedWorld, on_ranks

from dpbench.engine.where import Where
from dpbench.measure import timing
from dpbench.measure.bench import Bench
from dpbench.measure.case import Case
from dpbench.measure.options import Options
from dpbench.measure.plan import Plan
from dpbench.measure.rows import make_row
from dpbench.strategies.base import Roles

RANKS = 3
HOURS = 3600 * 10**9


class Clock(threading.local):
    """Each rank's own time in nanoseconds: hours apart."""

    now = 0


CLOCK = Clock()


class Rank(ThreadedWorld):
    """A rank that notes when it meets the others, and whose exchanges take the planted times."""

    def __init__(self, world: ThreadedWorld, times: Sequence[int]) -> None:
        super().__init__(world.rank, world.size, world.values, world.barrier)
        self.where = Where(world.rank)
        self.nodes = 1
        self.times = iter(times)
        self.events: list[str] = []
        self.barrier: Any = self.meet  # type: ignore[assignment]
        self.threads = world.barrier
        CLOCK.now = world.rank * HOURS

    def gather(self, value: Any) -> list[Any]:
        self.values[self.rank] = value
        self.threads.wait(10)
        everybodys = list(self.values)
        self.threads.wait(10)
        return everybodys

    def sum(self, value: int) -> int:
        return sum(self.gather(value))

    def meet(self) -> None:
        self.events.append("barrier")
        self.threads.wait(10)
        CLOCK.now += 10**9  # it is not timed

    def exchange(self) -> None:
        self.events.append("exchange")
        CLOCK.now += next(self.times)


@pytest.fixture(autouse=True)
def own_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "perf_counter_ns", lambda: CLOCK.now)


def measured(times: Sequence[Sequence[int]], **options: Any) -> list[tuple[Case, list[str], Any]]:
    """What each rank has of a case whose exchanges take `times[rank]`: first verified, then warm-ups, then samples."""
    given = Options(command="dpbench", check=False, **options)

    def rank(world: ThreadedWorld) -> tuple[Case, list[str], Any]:
        me = Rank(world, times[world.rank])
        bench = Bench(me, {}, given, lambda text: None, SimpleNamespace(caught=0))  # type: ignore[arg-type]
        case = Case(Plan("ring", "cpu", 4096, 1024, Roles(RANKS, range(RANKS))), "")
        case.exchange = SimpleNamespace(run=me.exchange, restore=None, recorder=None)  # type: ignore[assignment]
        case.expected = SimpleNamespace(spoil=lambda: None)  # type: ignore[assignment]
        bench.verify(case)
        bench.warm_up(case)
        while not case.finished_at:
            bench.block(case)
        return case, me.events, make_row(case, given, FACTS, ())

    return on_ranks(RANKS, rank)


def rotating(iterations: int) -> list[list[int]]:
    """Each iteration another rank is ten times as slow; two exchanges before are to be left out."""
    late = [[10_000 if i % RANKS == rank else 1_000 for i in range(iterations)] for rank in range(RANKS)]
    return [[900_000, 800_000, *each] for each in late]


def test_the_time_of_an_iteration_is_its_slowest_ranks_and_not_the_slowest_ranks_mean() -> None:
    times = rotating(30)
    assert max(mean(each[2:]) for each in times) == max(median(each[2:]) for each in times) + 3000 == 4000
    for case, _, row in measured(times, warmup=1, iters=30):
        assert case.samples == pytest.approx([10e-6] * 30)
        assert (row.time_min_s, row.time_median_s, row.time_max_s) == pytest.approx((10e-6,) * 3)
        assert row.start_skew_s is row.span_s is None  # the clocks differ


def test_warm_ups_and_what_was_verified_are_in_no_summary() -> None:
    for case, _, row in measured(rotating(7), warmup=1, iters=7):
        assert (case.own.first, case.own.warmups) == ([900_000], [800_000])
        assert (row.warmup, row.iterations, row.time_max_s) == (1, 7, pytest.approx(10e-6))


def test_without_warm_ups_the_cold_exchange_is_kept_beside_the_samples() -> None:
    for case, _, row in measured(rotating(6), warmup=0, iters=6):
        assert (case.own.first, case.own.warmups) == ([900_000], [])
        assert case.own.samples[0] == 800_000
        assert row.time_max_s == pytest.approx(800e-6)


def test_before_each_exchange_there_is_one_barrier_and_none_within_the_time() -> None:
    for _, events, _ in measured(rotating(12), warmup=1, iters=12):
        assert events == ["barrier", "exchange"] * 14


def test_rank_0_decides_for_all_how_many_samples_are_taken() -> None:
    times = [[1000] + [1000 + 997 * rank + 500 * (i * 7 % 5) for i in range(700)] for rank in range(RANKS)]
    found = measured(times, warmup=0)
    assert len({len(case.samples) for case, _, _ in found}) == 1
    assert len(found[0][0].samples) >= 30
    assert {case.stop_reason for case, _, _ in found} == {"precision"}


def test_rates_are_those_of_the_median_and_not_the_mean_of_rates() -> None:
    fast, slow = 1_000, 4_000
    times = [[0, *[fast, slow, slow] * 3] for _ in range(RANKS)]
    for _, _, row in measured(times, warmup=0, iters=9):
        assert row.algbw_GB_per_s == pytest.approx(4096 / 4e-6 / 1e9)
        assert row.busbw_GB_per_s == pytest.approx(4096 / 4e-6 / 1e9 * 4 / 3)
