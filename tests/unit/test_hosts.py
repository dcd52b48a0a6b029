import pytest

from dpbench.engine.hosts import allowed_cores, host_identity, same_node


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
