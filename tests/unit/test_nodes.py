from itertools import chain

import pytest

from dpbench.measure.nodes import (
    crossings,
    disjoint,
    ranks_by_node,
    ring_order,
    same_place,
    some_ranks,
    usual_rate,
)


def test_ranks_are_grouped_by_node_also_where_they_alternate() -> None:
    assert ranks_by_node([0, 0, 2, 2]) == [[0, 1], [2, 3]]
    assert ranks_by_node([0, 1, 0, 1]) == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    ("leaders", "count", "packed", "spread"),
    [
        ([0, 0, 0, 3, 3, 3], 2, (0, 1), (0, 3)),
        ([0, 0, 0, 3, 3, 3], 4, (0, 1, 2, 3), (0, 1, 3, 4)),
        ([0, 1, 0, 1], 2, (0, 2), (0, 1)),
        ([0, 0, 0, 3, 4, 4], 4, (0, 1, 2, 3), (0, 1, 3, 4)),  # nodes of 3, 1 and 2 ranks
        ([0, 0, 0, 3, 4, 4], 5, (0, 1, 2, 3, 4), (0, 1, 3, 4, 5)),
    ],
)
def test_packed_fills_nodes_and_spread_takes_them_in_turn(
    leaders: list[int], count: int, packed: tuple[int, ...], spread: tuple[int, ...]
) -> None:
    assert some_ranks(leaders, count, "packed") == packed
    assert some_ranks(leaders, count, "spread") == spread


@pytest.mark.parametrize(
    ("leaders", "world", "node", "ring"),
    [
        ([0, 0, 2, 2], 2, 2, (0, 1, 2, 3)),
        ([0, 1, 0, 1], 4, 2, (0, 2, 1, 3)),
        ([0, 0, 0], 0, 0, (0, 1, 2)),
        ([0, 1, 2, 0], 3, 3, (0, 3, 1, 2)),
        ([0], 0, 0, (0,)),
        ([0, 1], 2, 2, (0, 1)),
    ],
)
def test_a_ring_by_node_enters_each_once(leaders: list[int], world: int, node: int, ring: tuple[int, ...]) -> None:
    assert crossings(leaders, ring_order(leaders, "world")) == world
    assert ring_order(leaders, "node") == ring
    assert crossings(leaders, ring) == node


def test_the_same_place_is_shared_only_where_every_node_has_it() -> None:
    nodes = [[0, 1, 2], [3, 4], [5, 6, 7]]
    assert same_place(nodes, 4) == [1, 4, 6]
    assert same_place(nodes, 7) == []


@pytest.mark.parametrize("nodes", range(2, 17))
def test_every_neighbour_and_every_node_with_the_first_is_tried_once(nodes: int) -> None:
    firsts = [10 * node for node in range(nodes)]
    rounds = disjoint(firsts)
    tried = [frozenset(pair) for pair in chain.from_iterable(rounds)]
    wanted = {frozenset({firsts[n], firsts[(n + 1) % nodes]}) for n in range(nodes)}
    wanted |= {frozenset({firsts[0], other}) for other in firsts[1:]}
    assert len(tried) == len(set(tried))
    assert set(tried) == wanted
    for pairs in rounds:
        ranks = list(chain.from_iterable(pairs))
        assert len(ranks) == len(set(ranks))


@pytest.mark.parametrize(("nodes", "slow"), [(nodes, slow) for nodes in range(3, 17) for slow in range(nodes)])
def test_one_slow_node_does_not_become_the_usual(nodes: int, slow: int) -> None:
    pairs = list(chain.from_iterable(disjoint(list(range(nodes)))))
    rates = {pair: 1.0 if slow in pair else 10.0 for pair in pairs}
    assert usual_rate(rates) == 10.0


def test_two_nodes_have_nothing_to_be_compared_with() -> None:
    assert usual_rate({(0, 1): 3.0}) == 3.0
