"""The rule for slices: how many, and how many at a time."""

import pytest

from dpbench.engine.slicing import slicing
from dpbench.strategies.base import Scheduled
from dpbench.strategies.registry import strategies

KIB, MIB = 2**10, 2**20


def on_network(name: str, ranks: int, nbytes: int, servers: int | None = None) -> tuple[int, int]:
    strategy = strategies()[name]
    assert isinstance(strategy, Scheduled)
    roles = strategy.roles(ranks, servers)
    messages = 2 * ranks
    return slicing(nbytes, strategy.pieces(roles), messages, strategy.overlap(roles), slices=None, window=None)


@pytest.mark.parametrize(
    ("name", "ranks", "slices"),
    [
        ("ps", 8, 256),
        ("sharded-ps", 2, 256),
        ("sharded-ps", 8, 64),
        ("sharded-ps", 32, 32),
        ("ring", 2, 32),
        ("ring", 64, 4),
    ],
)
def test_a_large_gradient_travels_in_as_many_slices_as_the_strategy_can_overlap(
    name: str, ranks: int, slices: int
) -> None:
    assert on_network(name, ranks, 1024 * MIB) == (slices, 2)


def test_few_servers_need_the_slices_of_a_lone_one() -> None:
    assert on_network("sharded-ps", 8, 1024 * MIB, servers=1) == on_network("ps", 8, 1024 * MIB)
    assert on_network("sharded-ps", 8, 1024 * MIB, servers=2) == (256, 2)


@pytest.mark.parametrize(("nbytes", "slices"), [(0, 1), (4 * KIB, 1), (8 * 32 * KIB - 1, 1), (8 * 32 * KIB, 2)])
def test_messages_on_a_network_have_at_least_16_kib(nbytes: int, slices: int) -> None:
    assert on_network("sharded-ps", 8, nbytes)[0] == slices


@pytest.mark.parametrize(("nbytes", "slices"), [(4 * MIB - 1, 1), (8 * MIB, 2), (4096 * MIB, 128)])
def test_slices_in_memory_follow_each_other_and_have_messages_of_2_mib(nbytes: int, slices: int) -> None:
    assert slicing(nbytes, 2, 4, None, slices=None, window=None) == (slices, 1)


def test_no_rank_gets_more_messages_than_may_have_persistent_requests() -> None:
    assert slicing(1024 * MIB, 1, 4096, 256, slices=None, window=None) == (4, 2)
    assert slicing(1024 * MIB, 1, 10**6, 256, slices=None, window=None) == (1, 1)


@pytest.mark.parametrize(
    ("slices", "window", "expected"), [(7, None, (7, 2)), (7, 4, (7, 4)), (3, 8, (3, 3)), (1, 5, (1, 1))]
)
def test_what_the_user_says_overrides_the_rule(slices: int, window: int | None, expected: tuple[int, int]) -> None:
    assert slicing(1024 * MIB, 1, 4, 256, slices=slices, window=window) == expected
