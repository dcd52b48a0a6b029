import time
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbench.measure.statistics import binomial, interval_ranks, quantile, summarise

MEDIAN_RANKS = {
    6: (1, 6),
    10: (2, 9),
    20: (6, 15),
    30: (10, 21),
    50: (18, 33),
    100: (40, 61),
    1000: (469, 532),
}
COVERAGE = {6: 0.969, 10: 0.979, 20: 0.959, 30: 0.957, 50: 0.967, 100: 0.965, 1000: 0.954}
LEAST_SAMPLES = {0.5: 6, 0.75: 13, 0.9: 36, 0.95: 72, 0.99: 368}


def exact_ranks(n: int, q: Fraction, tail: Fraction) -> tuple[int, int] | None:
    """The definition, in rational numbers."""
    masses = [comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
    below = [sum(masses[:j], Fraction(0)) for j in range(n + 1)]  # P(K < j)
    lower = [j for j in range(1, n + 1) if below[j] <= tail]
    upper = [j for j in range(1, n + 1) if 1 - below[j] <= tail]
    return (max(lower), min(upper)) if lower and upper else None


@pytest.mark.parametrize("n", MEDIAN_RANKS)
def test_the_median_interval_has_the_published_ranks_and_coverage(n: int) -> None:
    lower, upper = MEDIAN_RANKS[n]
    assert interval_ranks(n) == (lower, upper)
    assert sum(comb(n, k) for k in range(lower, upper)) / 2**n == pytest.approx(COVERAGE[n], abs=5e-4)


@pytest.mark.parametrize("q", LEAST_SAMPLES)
def test_an_interval_exists_from_the_least_number_of_samples_on(q: float) -> None:
    least = LEAST_SAMPLES[q]
    assert all(interval_ranks(n, q) is None for n in range(least))
    assert all(interval_ranks(n, q) for n in range(least, least + 100))


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(19, 20)])
def test_ranks_follow_the_definition_in_rational_numbers(q: Fraction) -> None:
    for n in range(1, 80):
        assert interval_ranks(n, float(q)) == exact_ranks(n, q, Fraction(1, 40)), n


@pytest.mark.parametrize("n", [1001, 2500, 10_000])
def test_ranks_of_many_samples_are_still_exact(n: int) -> None:
    ranks = interval_ranks(n)
    assert ranks is not None
    lower, upper = ranks
    assert upper == n + 1 - lower
    below, mass = 0, 1  # P(K < k) and P(K = k), times 2**n
    for k in range(lower):
        below, mass = below + mass, mass * (n - k) // (k + 1)
    assert 40 * below <= 2**n < 40 * (below + mass)


def test_ranks_of_a_hundred_thousand_samples_agree_with_the_normal_form_and_are_fast() -> None:
    interval_ranks.cache_clear()
    start = time.perf_counter()
    ranks = interval_ranks(100_000)
    assert time.perf_counter() - start < 0.1
    assert ranks is not None
    assert ranks[0] == pytest.approx(50_000 - 1.96 * 100_000**0.5 / 2, abs=1.5)
    assert ranks[1] == 100_001 - ranks[0]


@pytest.mark.parametrize(("n", "q"), [(0, 0.5), (1, 0.95), (7, 0.5), (40, 0.01), (800, 0.99)])
def test_binomial_masses_are_those_of_the_formula(n: int, q: float) -> None:
    first, masses = binomial(n, q)
    exact = Fraction(q)
    for k, mass in enumerate(masses, start=first):
        assert mass == pytest.approx(float(comb(n, k) * exact**k * (1 - exact) ** (n - k)), rel=1e-9)
    assert sum(masses) == pytest.approx(1, abs=1e-12)


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=50), st.floats(0, 1))
def test_quantiles_are_numpys(values: list[float], q: float) -> None:
    assert quantile(sorted(values), q) == pytest.approx(float(np.quantile(values, q)), rel=1e-9)


def test_a_summary_of_the_numbers_from_1_to_100_in_any_order() -> None:
    summary = summarise([float(37 * i % 101) for i in range(1, 101)])
    assert (summary.n, summary.min, summary.median, summary.max) == (100, 1, 50.5, 100)
    assert (summary.p25, summary.p75, summary.p95) == pytest.approx((25.75, 75.25, 95.05))
    assert (summary.ci_low, summary.ci_high) == (40, 61)
    assert summary.half_width == pytest.approx(21 / 2 / 50.5)


def test_too_few_samples_give_no_interval_rather_than_the_extremes() -> None:
    summary = summarise([3.0, 1.0, 2.0, 5.0, 4.0])
    assert (summary.median, summary.ci_low, summary.ci_high, summary.half_width) == (3, None, None, None)


@pytest.mark.parametrize(("n", "shown"), [(71, False), (72, True)])
def test_p95_is_given_from_72_samples_on(n: int, shown: bool) -> None:
    assert (summarise([1.0] * n).p95 is not None) is shown


def test_one_sample_is_its_own_summary() -> None:
    summary = summarise([2.5])
    assert (summary.min, summary.p25, summary.median, summary.p75, summary.max) == (2.5,) * 5
