"""What is paired, and what is said of each pair; the figures are known beforehand."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from launches import observed, side

from dpbench.results.compare import Comparison, Rule, compare
from dpbench.results.differences import left_out, outcomes, requests
from dpbench.results.observed import Observation, ResultFile
from dpbench.results.pairs import Pair, Side, Verdict

JUDGED = {Verdict.SLOWER, Verdict.FASTER}


def of(name: str, *observations: Observation) -> Side:
    return Side(name, [ResultFile(path=name, observations=observations)])


def times(name: str, *medians: float, strategy: str = "ring", size: int = 4096, half: float = 0.02) -> Side:
    """One launch for each median."""
    return of(name, *(observed(strategy, size, f"{name}{n}", time, half) for n, time in enumerate(medians)))


def judged(base: Side, new: Side, **rule: object) -> Comparison:
    return compare(base, new, Rule(**rule))  # type: ignore[arg-type]


def verdict(base: Side, new: Side, **rule: object) -> Verdict | None:
    (pair,) = judged(base, new, **rule).pairs
    return pair.verdict


FOUR = (1.00, 1.01, 1.02, 1.03)


def scaled(factor: float, *medians: float) -> tuple[float, ...]:
    return tuple(round(median * factor, 6) for median in medians or FOUR)


def test_more_time_is_slower_and_less_is_faster() -> None:
    assert verdict(times("BASE", *FOUR), times("NEW", *scaled(1.2))) is Verdict.SLOWER
    assert verdict(times("BASE", *scaled(1.2)), times("NEW", *FOUR)) is Verdict.FASTER


def test_time_up_and_busbw_down_are_the_same_thing() -> None:
    (pair,) = judged(times("BASE", *FOUR), times("NEW", *scaled(1.2))).pairs
    busbw = [pair.identity.bytes / float(time) * 1.5 for time in pair.times]
    assert pair.verdict is Verdict.SLOWER
    assert pair.ratio > 1
    assert busbw[1] < busbw[0]
    assert busbw[0] / busbw[1] == pytest.approx(float(pair.ratio))


def test_a_clear_difference_within_the_tolerance_is_none() -> None:
    assert verdict(times("BASE", *FOUR), times("NEW", *scaled(1.04)), tolerance=Fraction(1, 20)) is Verdict.SAME
    assert verdict(times("BASE", *FOUR), times("NEW", *scaled(1.04)), tolerance=Fraction(1, 100)) is Verdict.SLOWER


@pytest.mark.parametrize(
    ("base", "new"), [(0.1, 0.105), (1.0, 1.05), (0.3, 0.315), (1.1, 1.155), (0.0007, 0.000735), (2e-6, 2.1e-6)]
)
def test_exactly_the_tolerance_is_within_it_whatever_binary_fractions_make_of_it(base: float, new: float) -> None:
    tolerance = Fraction(5, 100)
    (pair,) = judged(times("BASE", base), times("NEW", new)).pairs
    assert pair.ratio == 1 + tolerance
    assert pair.effect(tolerance) is None
    assert Pair(identity=pair.identity, base=pair.new, new=pair.base).effect(tolerance) is None
    (beyond,) = judged(times("BASE", base), times("NEW", new * (1 + 1e-9))).pairs
    assert beyond.effect(tolerance) is Verdict.SLOWER


def test_exchanging_the_sides_exchanges_the_verdict() -> None:
    noise = random.Random(1)
    for _ in range(50):
        medians = [tuple(noise.uniform(1, 1.3) for _ in range(4)) for _ in range(2)]
        there = verdict(times("BASE", *medians[0]), times("NEW", *medians[1]))
        back = verdict(times("BASE", *medians[1]), times("NEW", *medians[0]))
        assert back is {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}.get(there, there)


@pytest.mark.parametrize(("base", "new"), [(1, 1), (3, 3), (3, 9), (9, 3), (1, 100)])
def test_fewer_than_four_launches_on_a_side_give_no_verdict_however_clear(base: int, new: int) -> None:
    found = judged(times("BASE", *[1.0] * base), times("NEW", *[9.0] * new))
    assert [pair.verdict for pair in found.pairs] == [Verdict.FEW]
    assert found.pairs[0].interval
    assert not found.worse
    assert not found.empty


def test_a_launch_is_one_observation_however_many_files_tell_of_it() -> None:
    one = observed("ring", 4096, "same", 1.0)
    again = Side("NEW", [ResultFile(path=f"{n}", observations=(one,)) for n in range(9)])
    (pair,) = judged(times("BASE", *FOUR), again).pairs
    assert pair.launches == (4, 1)
    assert pair.verdict is Verdict.FEW


def test_a_file_that_was_continued_holds_several_launches() -> None:
    (pair,) = judged(times("BASE", *FOUR), times("NEW", *scaled(1.2))).pairs
    assert pair.launches == (4, 4)


def test_more_rows_need_more_launches() -> None:
    def sides(launches: int, rows: int) -> tuple[Side, Side]:
        both = ((name, factor) for name, factor in (("BASE", 1.0), ("NEW", 1.5)))
        places = [(n, 4 << row) for n in range(launches) for row in range(rows)]
        base, new = (
            of(name, *(observed("ring", size, f"{name}{n}", factor + n / 1000) for n, size in places))
            for name, factor in both
        )
        return base, new

    for rows, launches, said in (
        (1, 4, "slower"),
        (2, 4, "too few launches"),
        (6, 5, "slower"),
        (7, 5, "too few launches"),
    ):
        found = judged(*sides(launches, rows))
        assert {pair.verdict.value for pair in found.pairs if pair.verdict} == {said}
        assert found.worse == (said == "slower")


def test_p_is_exact_and_corrected_for_the_rows_that_are_tested() -> None:
    base = of("BASE", *(observed(name, 4096, f"{n}", 1 + n / 100) for name in ("ps", "ring") for n in range(4)))
    new = of("NEW", *(observed("ps", 4096, f"n{n}", 2 + n / 100) for n in range(4)),
             *(observed("ring", 4096, f"n{n}", 1.5 + n / 100) for n in range(2)))  # fmt: skip
    ps, ring = judged(base, new).pairs
    assert (ps.p, ring.p) == (Fraction(2, 70), None)
    assert (ps.verdict, ring.verdict) == (Verdict.SLOWER, Verdict.FEW)


def test_the_interval_of_one_launch_a_side_is_from_its_own() -> None:
    (pair,) = judged(times("BASE", 1.0, half=0.1), times("NEW", 2.0, half=0.05)).pairs
    assert pair.interval == pytest.approx((1.9 / 1.1, 2.1 / 0.9))


def test_the_interval_of_few_launches_covers_all_of_theirs() -> None:
    (pair,) = judged(times("BASE", 1.0, 1.5, half=0.1), times("NEW", 2.0, 3.0, 2.5, half=0.1)).pairs
    assert pair.interval == pytest.approx((1.8 / 1.65, 3.3 / 0.9))


def test_the_interval_of_several_launches_is_exact() -> None:
    (pair,) = judged(times("BASE", *FOUR, half=0.5), times("NEW", *scaled(2), half=0.5)).pairs
    assert pair.interval == pytest.approx((2.0 / 1.03, 2.06 / 1.0))


def test_the_interval_covers_the_true_ratio_as_often_as_it_says() -> None:
    noise = random.Random(5)
    inside = 0
    for _ in range(2000):
        base, new = ([noise.lognormvariate(0, 0.05) for _ in range(5)] for _ in range(2))
        (pair,) = judged(times("BASE", *base), times("NEW", *new)).pairs
        assert pair.interval
        inside += pair.interval[0] <= 1 <= pair.interval[1]
    assert 0.955 <= inside / 2000 <= 0.98  # exactly 1 - 8/252 = 0.968


# From a size up


def test_rows_below_a_size_are_shown_and_not_judged() -> None:
    base = of("BASE", *(observed("ring", size, f"{n}", 1 + n / 100) for size in (8, 4096) for n in range(4)))
    new = of("NEW", *(observed("ring", size, f"n{n}", 9 + n / 100) for size in (8, 4096) for n in range(4)))
    found = judged(base, new, from_bytes=9)
    assert [(pair.identity.bytes, pair.verdict, pair.p) for pair in found.pairs] == [
        (8, Verdict.SMALL, None),
        (4096, Verdict.SLOWER, Fraction(2, 70)),
    ]
    assert [pair.verdict for pair in judged(base, new, from_bytes=8).pairs] == [Verdict.FEW] * 2
    assert [pair.verdict for pair in judged(base, new, gate=True, from_bytes=9).pairs] == [
        Verdict.SMALL,
        Verdict.FAILED,
    ]


def test_nothing_is_comparable_where_all_rows_are_below() -> None:
    found = judged(times("BASE", *FOUR), times("NEW", *scaled(2)), from_bytes=4097)
    assert found.empty
    assert not found.worse
    assert "below 4097 B" in found.why_empty


# The gate


@pytest.mark.parametrize(
    ("new", "half", "said"),
    [
        (1.20, 0.02, Verdict.FAILED),
        (1.20, 0.15, Verdict.PASSED),  # the intervals overlap
        (1.05, 0.001, Verdict.PASSED),  # exactly the tolerance
        (1.0501, 0.001, Verdict.FAILED),
        (0.50, 0.02, Verdict.PASSED),
    ],
)
def test_the_gate_fails_beyond_the_tolerance_where_intervals_part(new: float, half: float, said: Verdict) -> None:
    found = judged(times("BASE", 1.0, half=half), times("NEW", new, half=half), gate=True)
    assert [pair.verdict for pair in found.pairs] == [said]
    assert found.worse == (said is Verdict.FAILED)
    assert not found.empty


def test_the_gate_takes_a_baseline_of_several_launches() -> None:
    base = times("BASE", 1.0, 1.3, 1.1)
    assert verdict(base, times("NEW", 1.25), gate=True) is Verdict.PASSED
    assert verdict(base, times("NEW", 1.5), gate=True) is Verdict.FAILED


def test_without_intervals_the_gate_is_blind_and_says_so() -> None:
    bare = Observation(identity=observed("ring", 4096, "r", 1.0).identity, run_id="n", quality="ok", median=9.0)
    found = judged(times("BASE", 1.0), of("NEW", bare), gate=True)
    assert [pair.verdict for pair in found.pairs] == [Verdict.BLIND]
    assert found.empty
    assert "interval" in found.why_empty
    assert verdict(times("BASE", 1.0), of("NEW", bare)) is Verdict.FEW


# What is not compared


def wrong(run: str, quality: str = "invalid", reason: str = "17 wrong elements") -> Observation:
    identity = observed("ring", 4096, run, 1.0).identity
    return Observation(identity=identity, run_id=run, quality=quality, reason=reason)


def test_a_wrong_result_in_new_is_worse_even_where_all_else_is_right() -> None:
    found = judged(times("BASE", *FOUR), of("NEW", *times("x", *FOUR).timed(wrong("").identity), wrong("bad")))
    assert [pair.verdict for pair in found.pairs] == [Verdict.WRONG]
    assert found.worse
    assert [(each.what, each.reason, each.launches) for each in left_out(found)] == [
        ("wrong in NEW", "17 wrong elements", (1, 5))
    ]


def test_a_wrong_result_in_base_is_listed_and_the_right_ones_are_compared() -> None:
    found = judged(of("BASE", wrong("bad"), observed("ring", 4096, "good", 1.0)), times("NEW", 1.0))
    assert [each.what for each in left_out(found)] == ["wrong in BASE"]
    assert not found.worse
    assert len(found.pairs) == 1


def test_only_wrong_results_are_worse_and_not_nothing() -> None:
    found = judged(times("BASE", 1.0), of("NEW", wrong("bad")))
    assert found.worse
    assert found.empty


def test_skipped_and_missing_rows_are_listed() -> None:
    base = of("BASE", observed("ring", 4096, "b", 1.0), observed("ps", 4096, "b", 1.0), observed("ps", 8, "b", 1.0))
    new = of(
        "NEW", wrong("n", "skipped", "needs 2 ranks"), observed("ps", 4096, "n", 1.0), observed("mpi", 8, "n", 1.0)
    )
    found = judged(base, new)
    listed = [(each.what, each.identity.strategy, each.identity.bytes, each.reason) for each in left_out(found)]
    assert listed == [
        ("only in BASE", "ps", 8, ""),
        ("skipped in NEW", "ring", 4096, "needs 2 ranks"),
        ("only in NEW", "mpi", 8, ""),
    ]
    assert len(found.pairs) == 1


def test_disjoint_sides_have_nothing_comparable() -> None:
    found = judged(times("BASE", *FOUR, size=8), times("NEW", *FOUR, size=16))
    assert found.empty
    assert found.pairs == ()
    assert Counter(each.what for each in left_out(found)) == {"only in BASE": 1, "only in NEW": 1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("operation", "step"), ("dtype", "float16"), ("ranks", 8), ("workers", 3), ("nodes", 2)),
        *(("device", "cuda"), ("cadence", "streaming"), ("servers", 2), ("dedicated", 1)),
        *(("slices_requested", "8"), ("thread_level", "multiple"), ("bytes", 4097), ("strategy", "ps")),
    ],
)
def test_rows_pair_only_if_they_agree_in_all_that_was_asked(name: str, value: object) -> None:
    one = observed("ring", 4096, "r", 1.0)
    other = Observation(identity=one.identity._replace(**{name: value}), run_id="n", quality="ok", median=1.0)
    found = judged(of("BASE", one), of("NEW", other))
    assert found.pairs == ()
    assert [line for line in requests(found) if line.startswith(f"{name} differs in 1 row")] or name in (
        "bytes",
        "strategy",
    )


def test_another_cadence_is_warned_of() -> None:
    one = observed("ring", 4096, "r", 1.0)
    other = Observation(identity=one.identity._replace(cadence="streaming"), run_id="n", quality="ok", median=0.5)
    (line,) = requests(judged(of("BASE", one), of("NEW", other)))
    assert "cadence differs in 1 row, not compared: BASE barrier, NEW streaming" in line
    assert "overlap" in line


# What differs though it was not asked for


def told(run: str, **facts: str) -> Observation:
    one = observed("ring", 4096, run, 1.0)
    return Observation(identity=one.identity, run_id=run, quality="ok", median=1.0, resolved=facts)


def noted(base: Observation, new: Observation) -> list[str]:
    return list(outcomes(judged(of("BASE", base), of("NEW", new)), lambda identity: identity.strategy))


@pytest.mark.parametrize(
    "name", ["slices", "window", "mpi_library", "dpbench_version", "scope", "seed", "hosts", "cpu"]
)
def test_facts_that_differ_are_told_once_and_do_not_hinder(name: str) -> None:
    assert noted(told("b", **{name: "1"}), told("n", **{name: "2"})) == [f"{name}: BASE 1; NEW 2"]
    assert noted(told("b", **{name: "1"}), told("n", **{name: "1"})) == []
    assert noted(told("b", **{name: "1"}), told("n")) == []  # a CSV does not tell all that JSON tells


def test_launches_of_one_side_that_differ_are_told_of() -> None:
    found = judged(of("BASE", told("b", seed="1"), told("c", seed="2")), of("NEW", told("n", seed="1")))
    assert list(outcomes(found, lambda identity: identity.strategy)) == ["seed: BASE 1, 2; NEW 1"]


def test_a_fact_that_differs_in_some_rows_is_told_of_the_first() -> None:
    sides = []
    for name, slices in (("BASE", "4"), ("NEW", "8")):
        ring = told(name, slices=slices)
        ps = Observation(
            identity=ring.identity._replace(strategy="ps"),
            run_id=name,
            quality="ok",
            median=1.0,
            resolved={"slices": "1"},
        )
        sides.append(of(name, ps, ring))
    assert list(outcomes(judged(*sides), lambda identity: identity.strategy)) == ["slices of ring: BASE 4; NEW 8"]


def test_commands_differ_only_in_what_they_measure() -> None:
    command = "dpbench run --ranks 4 --csv {}.csv {}"
    assert noted(told("b", command=command.format("a", "--append")), told("n", command=command.format("b", "-q"))) == []
    assert noted(told("b", command=command.format("a", "-n 5")), told("n", command=command.format("b", "-n 6"))) == [
        "command: BASE dpbench run --ranks 4 -n 5; NEW dpbench run --ranks 4 -n 6"
    ]
    assert noted(told("b", command="a 'b"), told("n", command="a 'c"))


def test_a_variable_that_is_set_on_one_side_only_is_told_of() -> None:
    unset, set_ = {"system": "Linux"}, {"system": "Linux", "$MALLOC_TRIM_THRESHOLD_": "4294967296"}
    assert noted(told("b", **unset), told("n", **set_)) == ["$MALLOC_TRIM_THRESHOLD_: BASE not set; NEW 4294967296"]


# Phases


def phase(name: str, run: str, median: float) -> Observation:
    one = observed("ring", 4096, run, median)
    return Observation(identity=one.identity._replace(phase=name), run_id=run, quality="ok", median=median)


def test_phases_are_compared_when_asked_and_never_judged() -> None:
    base = of(
        "BASE",
        *(each for n in range(4) for each in (observed("ring", 4096, f"{n}", 1 + n / 99), phase("push", f"{n}", 1))),
    )
    new = of(
        "NEW",
        *(each for n in range(4) for each in (observed("ring", 4096, f"n{n}", 1 + n / 99), phase("push", f"n{n}", 9))),
    )
    assert [pair.identity.phase for pair in judged(base, new).pairs] == [""]
    found = judged(base, new, phases=True)
    assert [(pair.identity.phase, pair.verdict, pair.ratio > 8) for pair in found.pairs] == [
        ("", Verdict.SAME, False),
        ("push", None, True),
    ]
    assert found.tested == 1
    assert not found.worse


# Launches of the same, and planted delays, with the noise of launches


def verdicts(noise: random.Random, launches: int, spread: float, sizes: tuple[int, ...], **delay: float) -> list[Pair]:
    base = side("BASE", noise, launches, spread=spread, sizes=sizes)
    new = side("NEW", noise, launches, spread=spread, sizes=sizes, delay=delay)
    return [pair for pair in judged(base, new).pairs if pair.verdict in JUDGED]


@pytest.mark.parametrize("spread", [0.05, 0.25])
@pytest.mark.parametrize(("launches", "sizes"), [(4, (4096,)), (5, (4096,)), (7, tuple(4096 * 4**n for n in range(8)))])
def test_launches_of_the_same_seldom_differ(launches: int, sizes: tuple[int, ...], spread: float) -> None:
    noise = random.Random(7)
    assert sum(bool(verdicts(noise, launches, spread, sizes)) for _ in range(100)) <= 10


@pytest.mark.parametrize("spread", [0.05, 0.25])
def test_four_launches_of_one_row_seldom_differ_from_four_of_the_same(spread: float) -> None:
    noise = random.Random(8)
    deviation = spread / 2.326
    called = 0
    for _ in range(100):
        medians = [[noise.lognormvariate(0, deviation) for _ in range(4)] for _ in range(2)]
        called += verdict(times("BASE", *medians[0]), times("NEW", *medians[1])) in JUDGED
    assert called <= 10


@pytest.mark.parametrize("spread", [0.02, 0.03, 0.05])
def test_a_delay_of_10_percent_in_one_strategy_is_found_and_no_other_row_blamed(spread: float) -> None:
    noise = random.Random(9)
    for _ in range(10):
        found = verdicts(noise, 5, spread, (65536,), ring=0.10)
        assert [(pair.identity.strategy, pair.verdict) for pair in found] == [("ring", Verdict.SLOWER)]
