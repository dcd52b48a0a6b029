"""Whether the hosts have the memory that a size needs: asked together, before any rank takes some of it."""

from typing import TYPE_CHECKING

from dpbench.engine.limits import memory_left
from dpbench.engine.survey import Cut, staging_of
from dpbench.errors import Unsuitable
from dpbench.measure.payload import BLOCK
from dpbench.measure.plan import Plan
from dpbench.strategies.base import Scheduled
from dpbench.strategies.registry import strategies

if TYPE_CHECKING:  # what is needed can be told without MPI
    from dpbench.engine.world import World


def needed(plans: list[Plan], rank: int, *, trains: bool, itemsize: int, server_buffer: int) -> int:
    """Return the bytes that `rank` will hold at once for the cases of one size, which share their buffers."""
    buffers = 3 if trains else 2  # input, output, and the weights
    verifying = min(BLOCK, plans[0].count) * (itemsize + 1)  # a block as it should be, and where it is not
    staging = sum(staged(plan, rank, trains, Cut(itemsize, plan.window or 1, server_buffer)) for plan in plans)
    return buffers * plans[0].bytes + verifying + staging


def staged(plan: Plan, rank: int, trains: bool, cut: Cut) -> int:
    """Return the bytes of the staging memory that `rank` will have for a case."""
    strategy = strategies()[plan.strategy]
    if plan.roles is None or not isinstance(strategy, Scheduled):
        return 0
    longest = -(-plan.count // (plan.slices or 1))  # the first slice is one of the longest
    return staging_of(strategy.describe(trains)(rank, plan.roles, 0, longest), cut)


def require_memory(world: "World", own: int) -> None:
    """Raise Unsuitable, the same on every rank, if ranks need more memory than they can get where they are.

    `own` are the bytes that this rank needs. More would not fail when it is taken: the system kills a rank later.
    """
    needs = world.gather(own)  # and by now every rank has given back what it had before
    lefts: list[dict[str, int]] = world.gather(memory_left())
    for pool in dict.fromkeys(name for each in lefts for name in each):
        ranks = [rank for rank, each in enumerate(lefts) if pool in each]
        least = min(ranks, key=lambda rank: lefts[rank][pool])
        left, together = lefts[least][pool], sum(needs[rank] for rank in ranks)
        if together > left:
            who = f"the {len(ranks)} ranks there need" if len(ranks) > 1 else "it needs"
            where = f"rank {world.numbers[least]} on {world.host(least)}"
            raise Unsuitable(f"{where} has {gigabytes(left)} of memory left, but {who} {gigabytes(together)}")


def gigabytes(nbytes: int) -> str:
    """Return an amount for a message."""
    return f"{nbytes / 1e9:.3g} GB" if nbytes < 1e12 else f"{nbytes / 1e9:,.0f} GB"
