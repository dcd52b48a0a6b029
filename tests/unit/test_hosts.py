from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as drawn

from dpbench.engine.hosts import allowed_cores, crowd, host_identity, same_node


@pytest.mark.parametrize(
    ("leaders", "hosts", "nodes"),
    [
        ([0, 0, 2, 2], "aabb", [0, 0, 2, 2]),
        ([0, 1, 0, 1], "abab", [0, 1, 0, 1]),
        ([0, 1, 2, 3], "aaaa", [0, 0, 0, 0]),  # MPI was told not to use shared memory
        ([0, 1, 2, 3], "abab", [0, 1, 0, 1]),
        ([0, 0, 0, 0], "abcd", [0, 0, 0, 0]),  # containers that share memory
        ([0, 1, 2], "abc", [0, 1, 2]),
    ],
)
def test_ranks_share_a_node_if_mpi_or_the_host_says_so(leaders: list[int], hosts: str, nodes: list[int]) -> None:
    assert same_node(leaders, list(hosts)) == nodes


def test_a_host_is_known_by_more_than_its_name() -> None:
    name, identity = host_identity().split(" ", 1)
    assert name
    assert identity


def test_this_process_may_use_some_core() -> None:
    assert allowed_cores()


@pytest.mark.parametrize(
    ("allowed", "alone"),
    [
        ([{0, 1}, {0, 1}], 2),  # not bound
        ([{0, 1}] * 4, 2),  # more ranks than cores
        ([{0}, {0}, {1, 2}, {1, 2}], 3),  # two bound to one core, while another idles
        ([{0, 1}, {0}, {1, 2}], 3),  # the first one's choice must be revised
        ([{0, 1}, {1, 2}, {2, 3}, {0}], 4),
        ([{0, 1, 2}, {0, 1}, {1}, {0}], 3),
        ([set(range(128))] * 128, 128),
        ([set(range(128))] * 130, 128),
    ],
)
def test_ranks_that_can_have_a_core_of_their_own_are_counted(allowed: list[set[int]], alone: int) -> None:
    ranks, cores = crowd(allowed)
    assert len(allowed) - len(ranks) + len(cores) == alone


@pytest.mark.parametrize(
    ("cores", "crowded"),
    [
        ([{0}, {1}, {2, 3}], ([], set())),
        ([{0, 1}] * 2, ([], set())),
        ([{0}] * 3, ([0, 1, 2], {0})),
        ([{0, 1}] * 3, ([0, 1, 2], {0, 1})),
        ([{0, 1}, {1}, {1, 2, 3}, {1}], ([1, 3], {1})),  # others have cores to spare
        ([{0}, {1}, {0, 1}], ([0, 1, 2], {0, 1})),
        ([{0}, {0}, {1}, {1}, {2}], ([0, 1, 2, 3], {0, 1})),
    ],
)
def test_ranks_that_are_more_than_their_cores_are_found(
    cores: list[set[int]], crowded: tuple[list[int], set[int]]
) -> None:
    assert crowd(cores) == crowded


@given(drawn.lists(drawn.sets(drawn.integers(0, 4), min_size=1), max_size=6))
@settings(max_examples=200, deadline=None)
def test_no_other_ranks_lack_more_cores(allowed: list[set[int]]) -> None:
    ranks, cores = crowd(allowed)
    assert set().union(*(allowed[rank] for rank in ranks)) == cores
    groups = chain.from_iterable(combinations(allowed, size) for size in range(len(allowed) + 1))
    assert len(ranks) - len(cores) == max(len(group) - len(set().union(*group)) for group in groups)
