"""The rank-sum test, its interval and Holm's correction, against closed forms, tables and brute force."""

from fractions import Fraction
from itertools import combinations
from math import comb
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as drawn

from dpbench.results.compare import launches_needed
from dpbench.results.ranksum import beyond, doubled_ranks, holm, least_p, normal, p_value, ratio_interval

SMALL = drawn.lists(drawn.integers(0, 6).map(float), min_size=1, max_size=6)


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("m", range(1, 9))
def test_samples_that_do_not_overlap_have_the_least_p(n: int, m: int) -> None:
    low, high = [float(value) for value in range(n)], [float(100 + value) for value in range(m)]
    expected = min(Fraction(1), Fraction(2, comb(n + m, n)))
    assert p_value(low, high) == p_value(high, low) == least_p(n, m) == expected


def test_four_against_four_is_the_least_that_reaches_5_percent() -> None:
    assert float(least_p(4, 4)) == pytest.approx(2 / 70)
    assert float(least_p(3, 3)) == pytest.approx(0.1)
    assert float(least_p(5, 5)) == pytest.approx(2 / 252)


def test_one_value_out_of_order_doubles_the_ways() -> None:
    assert p_value([1, 2, 3, 5], [4, 6, 7, 8]) == Fraction(2 * 2, 70)


def test_equal_values_show_nothing() -> None:
    assert p_value([1.0] * 5, [1.0] * 5) == 1


@given(SMALL, SMALL)
def test_p_counts_all_ways_to_choose_the_first_sample_ties_included(first: list[float], second: list[float]) -> None:
    ranks = doubled_ranks([*first, *second])
    observed = sum(ranks[: len(first)])
    ways = [sum(chosen) for chosen in combinations(ranks, len(first))]
    below, above = sum(way <= observed for way in ways), sum(way >= observed for way in ways)
    assert p_value(first, second) == min(Fraction(1), Fraction(2 * min(below, above), len(ways)))


@given(SMALL, SMALL)
def test_the_sides_are_alike(first: list[float], second: list[float]) -> None:
    assert p_value(first, second) == p_value(second, first)


def test_large_samples_use_the_normal_distribution_which_agrees() -> None:
    first, second = [float(value) for value in range(0, 64, 2)], [value + 11.5 for value in range(0, 64, 2)]
    ranks = doubled_ranks([*first, *second])
    exact = float(p_value(first, second))
    assert normal(ranks, 32, sum(ranks[:32])) == pytest.approx(exact, rel=0.05)
    assert float(p_value([*first, 1e3], [*second, 1e4])) == pytest.approx(exact, rel=0.3)
    assert p_value([1.0] * 40, [1.0] * 40) == 1


@pytest.mark.parametrize(
    ("n", "critical"), [(3, -1), (4, 0), (5, 2), (6, 5), (7, 8), (8, 13), (9, 17), (10, 23), (15, 64), (20, 127)]
)
def test_critical_values_are_those_of_the_published_table(n: int, critical: int) -> None:
    assert beyond(n, n) - 1 == critical


def test_the_normal_form_of_the_interval_agrees_with_the_exact_one() -> None:
    wide = NormalDist().inv_cdf(0.975) * (33 * 33 * 67 / 12) ** 0.5
    assert abs(beyond(32, 32) / (32 * 32) - (33 * 33 / 2 - wide) / 33**2) < 0.005
    assert abs(beyond(33, 33) / 33**2 - beyond(32, 32) / 32**2) < 0.005


def test_the_interval_of_four_against_four_is_between_the_extreme_ratios() -> None:
    assert ratio_interval([1, 2, 4, 8], [16, 32, 64, 128]) == (16 / 8, 128 / 1)


def test_there_is_no_interval_of_three_against_three() -> None:
    assert ratio_interval([1, 2, 3], [1, 2, 3]) is None


@given(
    drawn.lists(drawn.integers(1, 9), min_size=4, max_size=6), drawn.lists(drawn.integers(1, 9), min_size=4, max_size=6)
)
@settings(max_examples=200)
def test_the_interval_without_1_is_what_the_test_calls_different(first: list[int], second: list[int]) -> None:
    values = [float(value) for value in first], [float(value) + 0.5 for value in second]  # no ties between the two
    interval = ratio_interval(*values)
    assert interval is not None
    if len({*values[0]}) == len(first) and len({*values[1]}) == len(second):
        assert (p_value(*values) <= Fraction(1, 20)) == (not interval[0] <= 1 <= interval[1])


def test_holm_multiplies_by_how_many_are_left_and_never_decreases() -> None:
    values = [Fraction(1, 100), Fraction(4, 100), Fraction(3, 100), Fraction(5, 1000)]
    assert holm(values) == [Fraction(3, 100), Fraction(6, 100), Fraction(6, 100), Fraction(2, 100)]


def test_holm_stays_a_probability() -> None:
    assert holm([Fraction(1, 2), Fraction(1, 2), Fraction(9, 10)]) == [1, 1, 1]
    assert holm([]) == []


@pytest.mark.parametrize(("rows", "launches"), [(1, 4), (2, 5), (6, 5), (7, 6), (23, 6), (24, 7), (32, 7), (85, 7)])
def test_more_rows_take_more_launches(rows: int, launches: int) -> None:
    assert launches_needed(rows) == launches
    assert least_p(launches, launches) * rows <= Fraction(1, 20)
