"""How long an exchange may stand still: what the user says, and never less than slow bytes need."""

from dataclasses import replace
from typing import Any

import pytest

from dpbench.measure.case import Case, Ports
from dpbench.measure.options import Options, Training
from dpbench.measure.patience import patience
from dpbench.measure.plan import Plan
from dpbench.results.link import Link, Load

MIB = 2**20
LINK = Link(latency_s=1e-5, one_way=1e9, rank=1e9, node=1e9, addition=1e10)


def options(**given: Any) -> Options:
    return Options("dpbench", **given)


def case(nbytes: int, busiest: int | None = None, slowest: float = 0.0) -> Case:
    plan = Plan("ring", "cpu", nbytes, nbytes // 4, roles=None)
    ports = None if busiest is None else Ports(busiest, 0, busiest, Load(rank=busiest, node=busiest, added=0))
    return Case(plan, "", ports=ports, slowest=slowest)


@pytest.mark.parametrize(
    ("timeout", "nbytes", "busiest", "slowest", "seconds"),
    [
        (1, 4096, 6144, 0.001, 1),  # small messages are watched as the user says
        (1, 100_000_000, 150_000_000, 0.0, 10),  # one message at 10 MB/s
        (1, 100_000_000, None, 0.0, 10),  # a library call too
        (1, 100_000_000, 6_300_000_000, 0.0, 63),  # 63 workers and one server, which has a gigabit
        (1, 4096, 6144, 2.5, 7.5),  # it is known to be slow
        (None, 100_000_000, 150_000_000, 2.5, 120),
        (None, 2_000_000_000, None, 0.0, 200),
    ],
)
def test_what_still_moves_is_not_ended(
    timeout: int | None, nbytes: int, busiest: int | None, slowest: float, seconds: float
) -> None:
    assert patience(options(timeout=timeout), nbytes, case(nbytes, busiest, slowest)) == pytest.approx(seconds)


def test_links_that_need_long_are_waited_for_unless_the_user_says_how_long() -> None:
    slow = replace(LINK, rank=1e6, node=1e6, one_way=1e6)
    one = case(10_000_000, 15_000_000)
    assert patience(options(), 10_000_000, one, slow) == pytest.approx(20 * 15, rel=0.01)
    assert patience(options(), 10_000_000, case(10_000_000), slow) == pytest.approx(20 * 20, rel=0.01)
    assert patience(options(timeout=5), 10_000_000, one, slow) == 5
    assert patience(options(), 10_000_000, one, LINK) == 120


def test_delays_that_were_asked_for_come_on_top_and_0_means_for_ever() -> None:
    late = options(timeout=2, straggler=(1, 3.0), training=Training(compute=4.0))
    assert patience(late, 8) == 9
    assert patience(options(timeout=0), 8, case(8)) is None


def test_large_gradients_are_prepared_in_peace() -> None:
    assert patience(options(timeout=1), 600_000_000) == 60
