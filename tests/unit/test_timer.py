"""What is found out about clocks of known properties."""

from collections.abc import Callable
from itertools import count

import pytest

from dpbench.measure.timer import READINGS, Timer


def ticking(reading: int, tick: int) -> Callable[[], int]:
    """A clock that takes `reading` nanoseconds to read and moves every `tick`."""
    time = count(step=reading)
    return lambda: next(time) // tick * tick


@pytest.mark.parametrize(
    ("reading", "tick", "overhead", "resolution"),
    [
        (50, 1, 50, 50),  # finer than it can be read
        (50, 100, 50, 100),
        (50, 1000, 0, 1000),  # the tick hides what a reading takes
        (40, 15_600_000, 0, 15_600_000),  # does not move while it is read a thousand times
    ],
)
def test_a_clock_is_as_slow_and_as_coarse_as_it_is(reading: int, tick: int, overhead: int, resolution: int) -> None:
    found = Timer.of(ticking(reading, tick))
    assert found.overhead == pytest.approx(overhead, abs=reading)
    assert found.resolution == resolution


def test_interruptions_do_not_count() -> None:
    times = (50 * index + (10**6 if index > 5 else 0) for index in count())
    assert Timer.of(lambda: next(times)) == (50, 50)
    assert READINGS > 100


def test_the_clock_of_this_machine_is_fit_to_time_microseconds() -> None:
    found = Timer.of()
    assert 0 <= found.overhead < 20_000
    assert 0 < found.resolution < 20_000
