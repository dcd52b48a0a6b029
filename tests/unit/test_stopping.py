from collections.abc import Callable

import pytest

from dpbench.measure.stopping import LONGEST_S, Decision, enough_warmups, next_block, next_warmups

Clock = Callable[[int], float]


def steady(index: int) -> float:
    return 1e-3


def noisy(index: int) -> float:
    """Samples spread evenly over a factor of 10: the interval stays wide for long."""
    return 1e-3 * (1 + 9 * (index * 0.618034 % 1))


def run(
    sample: Clock, max_time: float = 2.0, iters: int | None = None
) -> tuple[list[int], str | None, float]:
    """Take what `next_block` asks for, on a clock that only samples move; return blocks, reason, elapsed."""
    samples: list[float] = []
    blocks: list[int] = []
    while True:
        decision = next_block(samples, sum(samples), max_time, iters, first=sample(0))
        if not decision.block:
            return blocks, decision.reason, sum(samples)
        assert decision.reason is None
        blocks.append(decision.block)
        samples += [sample(index) for index in range(len(samples), len(samples) + decision.block)]


def test_steady_samples_stop_at_30_by_precision() -> None:
    assert run(steady)[:2] == ([6, 24], "precision")


def test_noisy_samples_go_on_in_blocks_of_10_then_of_a_tenth_until_the_interval_is_narrow() -> None:
    blocks, reason, _ = run(lambda index: noisy(index) / 10, max_time=1e6)
    assert reason == "precision"
    assert blocks[:10] == [6, 24] + [10] * 8
    assert blocks[10:] == [max(10, sum(blocks[:index]) // 10) for index in range(10, len(blocks))]
    assert 100 < sum(blocks) < 10_000


def test_precision_is_not_looked_at_before_30_samples() -> None:
    assert next_block([1e-3] * 29, 0.029, max_time=2.0) == Decision(1)


def test_the_time_limit_stops_and_is_not_overrun() -> None:
    blocks, reason, elapsed = run(noisy, max_time=0.5)
    assert reason == "time"
    assert 0.45 < elapsed <= 0.51
    assert sum(blocks) > 30


def test_a_block_is_cut_to_the_time_that_is_left() -> None:
    assert next_block([0.1] * 6, 0.6, max_time=1.25) == Decision(6)
    assert next_block([0.1] * 12, 1.2, max_time=1.25) == Decision(0, "time")


def test_six_samples_are_taken_however_long_they_take() -> None:
    assert run(lambda index: 30.0) == ([1] * 6, "time", 180.0)


def test_samples_that_never_settle_end_at_10000() -> None:
    blocks, reason, _ = run(lambda index: 1.0 if index % 2 else 2.0, max_time=1e9)
    assert (sum(blocks), reason) == (10_000, "samples")


@pytest.mark.parametrize("iters", [1, 5, 6, 7, 30, 31, 100, 12_345])
def test_exactly_the_iterations_asked_for_are_taken_in_blocks_that_can_interleave(iters: int) -> None:
    blocks, reason, _ = run(lambda index: 10.0, iters=iters)
    assert (sum(blocks), reason) == (iters, "iters")
    assert all(block <= max(24, iters // 10) for block in blocks)


def test_a_clock_that_stands_still_neither_divides_by_zero_nor_stops() -> None:
    assert next_block([0.0] * 6, 0.0, max_time=2.0) == Decision(24)


def test_warmups_are_ten_where_time_allows() -> None:
    assert [enough_warmups(done, done * 1e-3, max_time=2.0) for done in (0, 1, 9, 10)] == [
        False,
        False,
        False,
        True,
    ]


def test_warmups_end_after_a_quarter_of_the_time_limit_but_never_before_one() -> None:
    assert not enough_warmups(0, 99.0, max_time=2.0)
    assert enough_warmups(1, 99.0, max_time=2.0)
    assert not enough_warmups(2, 0.49, max_time=2.0)
    assert enough_warmups(3, 0.5, max_time=2.0)


@pytest.mark.parametrize("asked", [0, 1, 25])
def test_warmups_asked_for_are_exact_whatever_the_time(asked: int) -> None:
    assert enough_warmups(asked, 0.0, max_time=2.0, warmup=asked)
    assert not enough_warmups(asked - 1, 1e9, max_time=2.0, warmup=asked)


@pytest.mark.parametrize("seconds", [0.001, 0.04, 0.3, 0.7, 30.0])
@pytest.mark.parametrize("iters", [None, 50])
def test_no_block_is_expected_to_keep_a_signal_waiting(seconds: float, iters: int | None) -> None:
    samples: list[float] = []
    while block := next_block(samples, sum(samples), 60.0, iters, first=seconds).block:
        assert block == 1 or block * seconds <= LONGEST_S
        samples += [seconds] * block
    assert len(samples) == (iters or (30 if seconds < 2 else 6))


def test_what_cuts_blocks_does_not_make_the_interval_looked_at_more_often() -> None:
    looks = [done for done in range(30, 200) if next_block([1.0] * done, 0.0, max_time=1e6).reason]
    assert looks == [30, 40, 50, 60, 70, 80, 90, 100, 110, 121, 133, 146, 160, 176, 193]


def test_warm_ups_double_and_are_cut_to_the_time_that_a_signal_waits() -> None:
    def blocks(seconds: float, warmup: int | None) -> list[int]:
        found: list[int] = []
        while block := next_warmups(sum(found), sum(found) * seconds, 2.0, warmup):
            found.append(block)
        return found

    assert blocks(1e-3, None) == [1, 1, 2, 4, 2]
    assert blocks(0.3, 12) == [1, 1, 2, 3, 3, 2]
    assert blocks(9.0, 3) == [1, 1, 1]
    assert blocks(9.0, None) == [1]
    assert blocks(9.0, 0) == []
