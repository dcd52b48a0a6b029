"""Each code of a warning is provoked, says its figures, and is silent where the row can be trusted."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp
from typing import Any

import pytest
from test_report import FACTS, row

from dpbench.measure.case import Case, Ports
from dpbench.measure.causes import APART, DEPENDENT, SURELY
from dpbench.measure.dependence import widening
from dpbench.measure.options import Options
from dpbench.measure.plan import Plan
from dpbench.measure.quality import CHECKS, doubts
from dpbench.measure.rows import make_row
from dpbench.measure.shape import modes
from dpbench.measure.spread import Spread
from dpbench.measure.stopping import next_block
from dpbench.results.doubt import Doubt
from dpbench.results.facts import RunFacts
from dpbench.results.link import Link, Load
from dpbench.strategies.base import Roles

MIB = 2**20
CLEAN = replace(FACTS, floor_s=0.5e-6, timer_overhead_s=50e-9, timer_resolution_s=30e-9)
LINK = Link(latency_s=20e-6, one_way=1e9, rank=1e9, node=1e9, addition=5e9)

Draw = Callable[[random.Random], float]


def lognormal(sigma: float) -> Draw:
    return lambda rng: exp(rng.gauss(0, sigma))


def with_outliers(share: float, factor: float) -> Draw:
    return lambda rng: exp(rng.gauss(0, 0.03)) * (factor if rng.random() < share else 1)


NOISES: dict[str, Draw] = {
    "quiet": lognormal(0.01),
    "usual": lognormal(0.05),
    "noisy": lognormal(0.2),
    "very noisy": lognormal(0.3),
    "with outliers": with_outliers(0.05, 5),
    "with preempted samples": with_outliers(0.1, 16),
    "heavy tail": lambda rng: 1 + 0.05 * (rng.paretovariate(1.5) - 1),
    "exponential tail": lambda rng: 1 + 0.2 * rng.expovariate(1),
    "uniform": lambda rng: 1 + 0.2 * rng.random(),
    "coarse": lambda rng: round(50 * exp(rng.gauss(0, 0.05))) / 50,
}


def stopped(draw: Callable[[int], float], most: int = 3000) -> tuple[list[float], str | None]:
    """Samples as the stopping rule takes them, and why it stopped."""
    samples: list[float] = []
    while (decision := next_block(samples, float(len(samples)), most)).block:
        samples += [draw(len(samples) + index) for index in range(decision.block)]
    return samples, decision.reason


def case(samples: Sequence[float], stop: str | None = "precision", nbytes: int = 64 * 1024, **values: Any) -> Case:
    plan = Plan("ring", values.pop("device", "cpu"), nbytes, nbytes // 4, Roles(2, range(2)))
    return Case(plan, "", samples=list(samples), stop_reason=stop, **{"elapsed": 1.0, **values})


def found(of: Case, facts: RunFacts = CLEAN) -> dict[str, Doubt]:
    return {doubt.code: doubt for doubt in doubts(of, facts)}


def apart(seconds: float) -> Spread:
    """What is known of ranks that start so far apart."""
    return Spread(starts=[round(seconds * 1e9)])


def noisy(seed: int, n: int, scale: float = 1e-3, sigma: float = 0.05) -> list[float]:
    rng = random.Random(seed)
    return [scale * exp(rng.gauss(0, sigma)) for _ in range(n)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("nbytes", [64 * 1024, 64 * MIB])
def test_a_clean_run_of_64_kib_and_more_has_no_warning(noise: str, nbytes: int) -> None:
    told: list[str] = []
    scale = 1.2 * nbytes / LINK.rank  # near the limit of the link
    load = Load(rank=nbytes, node=nbytes, added=nbytes // 2)
    for seed in range(30):
        rng = random.Random(seed)
        samples, reason = stopped(lambda index, rng=rng: scale * NOISES[noise](rng))  # type: ignore[misc]
        clean = case(samples, reason, nbytes, spread=apart(0.01 * scale), ports=Ports(2 * nbytes, 0, nbytes, load))
        told += list(found(clean, replace(CLEAN, links={"cpu": LINK})))
    assert told == []


def test_every_code_is_provoked_by_a_test_of_its_own() -> None:
    provoked = {"W01", "W02", "W03", "W04", "W05", "W06", "W07", "W08", "W09", "W13", "W14", "W16", "W17", "W18"}
    assert list(CHECKS) == sorted(provoked)


def test_w01_a_clock_that_is_slow_or_coarse_for_the_median() -> None:
    short = case(noisy(1, 50, 900e-9))
    assert "W01" in found(short)  # below 20 readings of 50 ns
    assert "W01" not in found(case(noisy(1, 50, 1.1e-6)))
    assert "W01" not in found(case(noisy(1, 50, 900e-9), stream=20))  # each reading for 20 exchanges
    coarse = replace(CLEAN, timer_overhead_s=0.0, timer_resolution_s=15.6e-3)
    told = found(case([0.0156] * 50), coarse)["W01"]
    assert told.cause == (
        "median 15.60 ms is little for this clock: one reading takes 0.000 ns, its least step is 15.60 ms"
    )
    assert told.excess == pytest.approx(10)
    assert "W01" not in found(case([0.2] * 50), coarse)


def test_w02_hardly_more_than_an_exchange_of_nothing() -> None:
    facts = replace(CLEAN, floor_s=2.1e-6)
    told = found(case([12.3e-6] * 30), facts)["W02"]
    assert told.cause == "median 12.30 µs is under 10 times the floor of 2.100 µs"
    assert told.excess == pytest.approx(21 / 12.3)
    assert "W02" not in found(case([21e-6] * 30), facts)


def test_w03_ranks_that_share_cores() -> None:
    facts = replace(CLEAN, crowded="4 ranks on n1, cores for 2")
    assert found(case(noisy(1, 50)), facts)["W03"].cause == "4 ranks on n1, cores for 2"


def test_w18_a_ring_that_comes_back_to_nodes() -> None:
    rows = case(noisy(1, 50))
    ring = replace(rows, plan=replace(rows.plan, roles=Roles(4, range(4), ring=(0, 1, 2, 3))))
    for crossings, codes in ((2, []), (4, ["W18"])):
        facts = replace(CLEAN, hosts=("a", "b"), crossings=crossings)
        assert list(found(ring, facts)) == codes
        assert found(rows, facts) == {}  # whatever takes no order
    assert found(ring, facts)["W18"].cause == "the ring crosses nodes in 4 hops, where 2 would do"


def test_w04_ranks_that_share_a_gpu_but_only_in_rows_of_it() -> None:
    facts = replace(CLEAN, sharing=("ranks 0, 1 share GPU x", "ranks 2, 3 share GPU y"))
    told = found(case(noisy(1, 50), device="cuda"), facts)["W04"]
    assert told.cause == "ranks 0, 1 share GPU x; ranks 2, 3 share GPU y"
    assert found(case(noisy(1, 50)), facts) == {}


def test_w05_ranks_that_start_apart() -> None:
    told = found(case([100e-6] * 30, spread=apart(12e-6)))["W05"]
    assert told.cause == "ranks left the barrier 12.00 µs apart, 12 % of the median 100.0 µs"
    assert found(case([100e-6] * 30, spread=apart(5e-6))) == found(case([100e-6] * 30)) == {}


def series(kind: str, seed: int, n: int) -> list[float]:
    """Samples that are not independent."""
    rng = random.Random(seed)
    if kind == "drift":
        return [1e-3 * (1 + 0.3 * index / n) * exp(rng.gauss(0, 0.05)) for index in range(n)]
    if kind == "step":
        return [1e-3 * (1.25 if index > n * 0.6 else 1) * exp(rng.gauss(0, 0.1)) for index in range(n)]
    state, samples = 0.0, []
    for _ in range(n):
        state = 0.95 * state + rng.gauss(0, 0.05)
        samples.append(1e-3 * exp(state))
    return samples


@pytest.mark.parametrize("kind", ["drift", "step", "runs"])
def test_w06_samples_that_drift_or_come_in_runs(kind: str) -> None:
    told = [found(case(series(kind, seed, 400), "iters")).get("W06") for seed in range(50)]
    assert sum(each is not None for each in told) * 5 >= 50 * 4
    first = next(each for each in told if each)
    assert first.cause.startswith("samples drift or come in runs: ±")
    assert 1 <= first.excess < 20


def test_w06_is_no_matter_of_chance_or_of_small_drifts() -> None:
    wide = [widening(noisy(seed, 200), 1e-3) for seed in range(2000)]
    assert sum(each > SURELY for each in wide) <= 6  # of 2000, where 2 are expected
    assert 0.9 < sum(each**2 for each in wide) / 2000 < 1.1
    slight = [1e-3 * (1 + 0.02 * index / 400) * exp(random.Random(index).gauss(0, 0.005)) for index in range(400)]
    assert widening(slight, 1.01e-3) > SURELY
    assert found(case(slight)) == {}  # it matters less than the interval that is aimed at


def test_w06_leaves_a_wide_interval_to_w07() -> None:
    drifting = [1e-3 * (1 + index / 100) for index in range(100)]
    assert list(found(case(drifting, "time"))) == ["W07"]


@pytest.mark.parametrize(
    ("samples", "stop", "end"),
    [
        ([1.0, 2.0] * 10, "time", "after 20 samples: the time sufficed for fewer than 30"),
        ([1.0] * 40 + [1.1] * 40, "time", "after 80 samples: some 290 might do, with --max-time 4"),
        ([1.0, 2.0] * 50, "time", "after 100 samples: noise, 10,000 samples would not do"),
        ([1.0, 2.0] * 5000, "samples", "after 10,000 samples: noise, 10,000 samples would not do"),
    ],
)
def test_w07_says_whether_samples_time_or_quiet_was_missing(samples: list[float], stop: str, end: str) -> None:
    cause = found(case(samples, stop))["W07"].cause
    assert cause.startswith("±")
    assert "% of the median instead of ±2.5 %" in cause
    assert cause.endswith(end)


def test_w07_lets_who_asks_for_so_many_samples_have_a_wider_interval_but_not_any() -> None:
    assert "W07" not in found(case([1.0, 1.1] * 10, "iters"))
    assert found(case([1.0, 2.0] * 10, "iters"))["W07"].cause == (
        "±33 % of the median instead of ±2.5 % after 20 samples: --iters asked for no more"
    )
    assert "W07" not in found(case([1.0, 2.0], "iters"))  # that there is no interval is told by W14


def test_w08_a_gpu_that_was_held_back() -> None:
    slowed = case(noisy(1, 50), device="cuda", slowed="GPU 0 was held back (power cap) at 1200 MHz on n1")
    assert found(slowed)["W08"].cause == "GPU 0 was held back (power cap) at 1200 MHz on n1"


def shaped(name: str, seed: int) -> list[float]:
    rng = random.Random(seed)
    if name == "two modes":
        return [1e-3 * exp(rng.gauss(0, 0.03)) * (2.2 if rng.random() < 0.4 else 1) for _ in range(200)]
    if name == "slow start":
        return [1e-3 * exp(rng.gauss(0, 0.03)) * (1.5 if index < 8 else 1) for index in range(60)]
    return [1e-3 * exp(rng.gauss(0, 0.6)) for _ in range(5000)]


@pytest.mark.parametrize("name", ["two modes", "slow start", "wide spread"])
def test_w09_says_which_shape_the_median_does_not_tell(name: str) -> None:
    told = [found(case(shaped(name, seed))).get("W09") for seed in range(50)]
    assert sum(each is not None and each.cause.startswith(f"{name}: ") for each in told) >= 48


def test_w09_tells_both_modes() -> None:
    two = found(case([1e-3, 2e-3, 1e-3, 2.002e-3, 0.999e-3] * 20))["W09"]
    assert two.cause == "two modes: 60 % of the samples take about 1.000 ms, 40 % about 2.001 ms"
    assert "W09" not in found(case([1e-3, 1.15e-3] * 50))  # closer than matters


def test_two_groups_are_told_apart_where_the_variance_within_is_least() -> None:
    two = modes([1.0, 1.0, 1.0, 4.0, 4.0])
    assert two is not None
    assert (two.low, two.high, two.smaller, two.between) == pytest.approx((1.0, 4.0, 0.4, 0.0))
    assert modes([2.0] * 40) is None
    hill = modes(noisy(3, 1000, sigma=0.5))
    assert hill is not None
    assert hill.high > APART * hill.low
    assert hill.between > 0.25  # of one hill the middle is full


def ported(nbytes: int, added: int = 0) -> Ports:
    return Ports(2 * nbytes, 0, nbytes, Load(rank=nbytes, node=nbytes, added=added))


def test_w13_faster_than_the_links_were_measured() -> None:
    facts = replace(CLEAN, links={"cpu": LINK})
    told = found(case([1e-3] * 30, ports=ported(2_000_000)), facts)["W13"]
    assert told.cause == "median 1.000 ms is less than the 2.000 ms that the measured links allow"
    assert "W13" not in found(case([1e-3] * 30, ports=ported(1_040_000)), facts)
    assert "W13" not in found(case([1e-3] * 30, ports=None), facts)  # a library call, which does not tell


@pytest.mark.parametrize("n", [1, 5])
def test_w14_too_few_for_an_interval(n: int) -> None:
    assert found(case([1e-3] * n, "iters"))["W14"].cause == f"{n} of the 6 samples that an interval needs"
    assert "W14" not in found(case([1e-3] * 6, "iters"))


def test_w16_a_path_that_nothing_shows_only_in_rows_of_that_device() -> None:
    facts = replace(CLEAN, paths={"cuda": "only --gpu-aware yes says so"})
    assert found(case([1e-3] * 30, device="cuda"), facts)["W16"].cause == "only --gpu-aware yes says so"
    assert found(case([1e-3] * 30), facts) == found(case([1e-3] * 30, device="cuda-staged"), facts) == {}


def test_w17_additions_that_take_longer_than_the_links() -> None:
    facts = replace(CLEAN, links={"cpu": LINK})
    told = found(case([12e-3] * 30, ports=ported(10**6, added=5 * 10**7)), facts)["W17"]
    assert told.cause == "the busiest rank's additions take 10.00 ms, the links need 1.000 ms"
    assert told.excess == pytest.approx(10)


def test_a_wrong_or_skipped_row_has_no_warnings() -> None:
    facts = replace(CLEAN, crowded="4 ranks on n1, cores for 2")
    assert found(case([1e-3] * 30, wrong=1), facts) == found(case([], None), facts) == {}


def test_a_row_holds_the_codes_with_blanks_between() -> None:
    facts = replace(CLEAN, crowded="4 ranks on n1, cores for 2")
    few = case([1e-3] * 5, "iters")
    made = make_row(few, Options(command="dpbench"), facts, doubts(few, facts))
    assert (made.warnings, made.quality) == ("W03 W14", "warn")
    assert row("ps").warnings == ""
    assert DEPENDENT == 0.05
