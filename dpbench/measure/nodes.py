"""Which ranks share a node, which take part, in which order a ring visits them, and which pairs are put to the test."""

from collections.abc import Mapping, Sequence
from statistics import median


def ranks_by_node(leaders: Sequence[int]) -> list[list[int]]:
    """Return the ranks of each node, in the order of their first ranks."""
    nodes: dict[int, list[int]] = {}
    for rank, leader in enumerate(leaders):
        nodes.setdefault(leader, []).append(rank)
    return [nodes[leader] for leader in sorted(nodes)]


def some_ranks(leaders: Sequence[int], count: int, placement: str) -> tuple[int, ...]:
    """Return `count` ranks, ascending: `packed` fills nodes in order, `spread` takes one rank of each node in turn."""
    places = [
        (place, node, rank) if placement == "spread" else (node, place, rank)
        for node, ranks in enumerate(ranks_by_node(leaders))
        for place, rank in enumerate(ranks)
    ]
    return tuple(sorted(rank for *_, rank in sorted(places)[:count]))


def ring_order(leaders: Sequence[int], how: str) -> tuple[int, ...]:
    """Return the ranks along the ring: by number (`world`), or such that each node is entered once (`node`)."""
    ranks = range(len(leaders))
    return tuple(ranks if how == "world" else sorted(ranks, key=lambda rank: leaders[rank]))


def crossings(leaders: Sequence[int], ring: Sequence[int]) -> int:
    """Return how many hops of a ring lead from one node to another."""
    return sum(leaders[ring[place - 1]] != leaders[rank] for place, rank in enumerate(ring))


def same_place(nodes: list[list[int]], rank: int) -> list[int]:
    """Return the ranks that have the same place on their node as `rank`, where every node has such a place."""
    place = next(ranks.index(rank) for ranks in nodes if rank in ranks)
    return [ranks[place] for ranks in nodes] if place < min(map(len, nodes)) else []


def disjoint(firsts: list[int]) -> list[list[tuple[int, int]]]:
    """Return rounds of pairs, no rank twice in a round: neighbours along the ring, then the first with each other."""
    ring = list(zip(firsts, firsts[1:] + firsts[:1], strict=True)) if len(firsts) > 2 else [(firsts[0], firsts[1])]
    last = [ring.pop()] if len(ring) % 2 and len(ring) > 1 else []
    rounds = [ring[0::2], ring[1::2], last, *([(firsts[0], other)] for other in firsts[2:-1])]
    return [pairs for pairs in rounds if pairs]


def usual_rate(rates: Mapping[tuple[int, int], float]) -> float:
    """Return the median over nodes of the rate of each node's fastest pair.

    The median over pairs would not do: a slow node may be in half of them.
    """
    best: dict[int, float] = {}
    for pair, rate in rates.items():
        for node in pair:
            best[node] = max(rate, best.get(node, 0.0))
    return median(best.values())
