"""Which ranks measure together, and what: all of them once, or as many at a time as --scaling says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpbench.errors import UsageError
from dpbench.measure.devices import Chosen
from dpbench.measure.nodes import crossings, ranks_by_node, ring_order, some_ranks
from dpbench.measure.options import Options
from dpbench.measure.plan import Layout, Plan, make_plan
from dpbench.results.facts import RunFacts

if TYPE_CHECKING:
    from dpbench.engine.world import World


@dataclass(frozen=True)
class Group:
    """Ranks that measure together."""

    facts: RunFacts  #: about these ranks
    blocks: list[list[Plan]]  #: their cases, size by size


def make_groups(world: "World", options: Options, chosen: Chosen, facts: RunFacts) -> list[Group]:
    """Return the groups, the smallest first; `facts` are of the run. Raises UsageError where options do not suit."""
    names = [device.name for device in chosen.devices]
    groups = []
    for count in rank_counts(options.scaling, world.size):
        about = among(world, options, chosen, facts, some_ranks(world.leaders, count, options.placement))
        check_straggler(options, about.members, world.size)
        here = {rank: index for index, rank in enumerate(about.members)}
        ring = tuple(here[rank] for rank in about.ring)
        groups.append(Group(about, make_plan(options, names, Layout(count, len(about.hosts), ring))))
    return groups


def rank_counts(asked: Sequence[int] | str | None, ranks: int) -> list[int]:
    """Return how many ranks take part at a time, ascending; of `pow2` the last are all there are."""
    if asked is None:
        return [ranks]
    counts = powers(ranks) if isinstance(asked, str) else list(asked)
    if max(counts) > ranks or ranks < 2:
        typed = asked if isinstance(asked, str) else max(counts)
        there = "is 1 rank" if ranks == 1 else f"are {ranks} ranks"
        raise UsageError(f"--scaling {typed}: there {there} only; start more, or name smaller numbers")
    return counts


def powers(ranks: int) -> list[int]:
    """Return 2, 4, 8 and so on below `ranks`, then all of them."""
    return [*(2**power for power in range(1, ranks.bit_length()) if 2**power < ranks), ranks]


def among(world: "World", options: Options, chosen: Chosen, facts: RunFacts, members: tuple[int, ...]) -> RunFacts:
    """Return the facts about some ranks."""
    leaders = [world.leaders[rank] for rank in members]
    nodes = ranks_by_node(leaders)
    ring = ring_order(leaders, options.ring_order)
    return replace(
        facts,
        ranks=len(members),
        members=members,
        hosts=tuple(world.host(members[ranks[0]]) for ranks in nodes),
        per_node=tuple(map(len, nodes)),
        ring=tuple(members[place] for place in ring),
        crossings=crossings(leaders, ring),
        scopes=chosen.scopes(members, len(nodes)),
        sharing=chosen.sharing(members),
    )


def check_straggler(options: Options, members: Sequence[int], ranks: int) -> None:
    """Raise UsageError if the rank that shall be late does not exist, or does not take part."""
    late = options.straggler[0] if options.straggler else 0
    if late >= ranks:
        raise UsageError(f"--straggler {late}: there is no such rank; they are 0 to {ranks - 1}")
    if late not in members:
        raise UsageError(f"--straggler {late}: that rank does not take part where {len(members)} ranks do; rank 0 does")
