"""How far apart the ranks of one host start, from their readings of one clock; never from different clocks."""

from time import perf_counter_ns

import pytest
from threadedworld import on_ranks

from dpbench.measure.spread import Spread

HOURS = 3 * 3600 * 10**9


def spread(starts: list[list[int]], times: list[list[int]], shift: int = 0, ago: int = 10**9) -> list[Spread]:
    """Return what each rank finds of its samples that began a second `ago`; the clock of the last one is shifted."""
    zero = perf_counter_ns() - ago

    def act(world) -> Spread:  # type: ignore[no-untyped-def]
        off = shift if world.rank == world.size - 1 else 0
        found = Spread()
        found.add(world, zero + off, [zero + off + start for start in starts[world.rank]], times[world.rank])
        return found

    return on_ranks(len(starts), act)


def test_skew_and_span_are_medians_over_iterations_of_the_extremes_over_ranks() -> None:
    starts = [[1000, 5000, 9000], [1200, 4900, 9000], [1100, 5000, 9500]]
    times = [[100, 200, 300], [300, 400, 200], [100, 200, 700]]
    for found in spread(starts, times):
        assert found.starts == [200, 100, 500]
        assert found.spans == [500, 400, 1200]
        assert (found.skew_s, found.span_s) == (200e-9, 500e-9)


def test_blocks_add_up() -> None:
    zero = perf_counter_ns() - 10**9

    def act(world) -> Spread:  # type: ignore[no-untyped-def]
        found = Spread()
        for late in (0, 50):
            found.add(world, zero, [zero + 10 + late * world.rank], [100])
        return found

    assert [found.starts for found in on_ranks(2, act)] == [[0, 50]] * 2


@pytest.mark.parametrize("shift", [-HOURS, HOURS])
def test_a_clock_that_differs_is_no_clock_to_compare_with(shift: int) -> None:
    for found in spread([[1000], [1200]], [[100], [100]], shift):
        assert (found.skew_s, found.span_s) == (None, None)


def test_nothing_was_sampled_and_nothing_is_said() -> None:
    assert (Spread().skew_s, Spread().span_s) == (None, None)
