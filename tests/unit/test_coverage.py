"""How often the interval of the median holds the true median, where the stopping rule decides how many samples."""

import random
from collections.abc import Callable
from math import exp, log

import pytest

from dpbench.measure.statistics import summarise
from dpbench.measure.stopping import next_block

SERIES = 1000  # the standard error of a coverage of 95 % is then 0.7 %

Draw = Callable[[random.Random], float]

SAMPLES: dict[str, tuple[Draw, float]] = {  # and their true median
    "normal, 5 %": (lambda rng: rng.gauss(1, 0.05), 1.0),
    "lognormal, 10 %": (lambda rng: exp(rng.gauss(0, 0.1)), 1.0),
    "lognormal, 20 %": (lambda rng: exp(rng.gauss(0, 0.2)), 1.0),
    "exponential tail": (lambda rng: 1 + 0.1 * rng.expovariate(1), 1 + 0.1 * log(2)),
    "Pareto tail without variance": (lambda rng: 0.9 + 0.1 * rng.paretovariate(1.2), 0.9 + 0.1 * 2 ** (1 / 1.2)),
    "one of ten preempted": (
        lambda rng: rng.random() * 0.2 + 1 + (15 if rng.random() < 0.1 else 0), 1 + 0.2 * 0.5 / 0.9
    ),
}  # fmt: skip


def by_the_rule(draw: Draw, rng: random.Random) -> list[float]:
    samples: list[float] = []
    while (decision := next_block(samples, float(len(samples)), 10_000)).block:
        samples += [draw(rng) for _ in range(decision.block)]
    return samples


def fixed(n: int) -> Callable[[Draw, random.Random], list[float]]:
    return lambda draw, rng: [draw(rng) for _ in range(n)]


def coverage(name: str, take: Callable[[Draw, random.Random], list[float]], seed: int = 1) -> float:
    draw, truth = SAMPLES[name]
    rng = random.Random(seed)
    found = [summarise(take(draw, rng)) for _ in range(SERIES)]
    return sum(each.ci_low <= truth <= each.ci_high for each in found) / SERIES  # type: ignore[operator]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_interval_holds_the_median_in_93_to_98_of_100_runs_of_the_stopping_rule(name: str) -> None:
    assert 0.93 <= coverage(name, by_the_rule) <= 0.98


@pytest.mark.parametrize("n", [10, 30, 100])
def test_so_does_that_of_a_number_of_samples_that_was_asked_for(n: int) -> None:
    assert 0.93 <= coverage("Pareto tail without variance", fixed(n)) <= 0.99
