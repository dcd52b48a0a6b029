"""The raw times of all ranks, gathered once a case is over."""

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from dpbench.results.raw import Raw, Times

if TYPE_CHECKING:
    from dpbench.engine.world import World

FEW = 64  #: ranks, all of whose times are kept


@dataclass
class Own:
    """One rank's times of a case, in nanoseconds."""

    first: list[int] = field(default_factory=list)  #: of the exchange that is checked before anything else
    warmups: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)


def gathered(world: "World", own: Own, everything: bool, stream: int = 1) -> Raw | None:
    """Return the times of all ranks, on rank 0; of many, unless `everything` is asked for, only the essence."""
    gather = all_times if everything or world.size <= FEW else essence
    first, warmups, samples = (gather(world, each) for each in (own.first, own.warmups, own.samples))
    return Raw(first, warmups, samples, stream) if world.rank == 0 else None


def all_times(world: "World", mine: list[int]) -> Times:
    """Return, on rank 0, the times of all ranks."""
    everybodys = world.to_root(mine) or []
    return Times(by_rank=[seconds(each) for each in everybodys])


def essence(world: "World", mine: list[int]) -> Times:
    """Return, on rank 0, of each iteration the largest time and whose it is, and of each rank the median."""
    slowest = world.maxima(mine)
    ranks = world.maxima([world.number if own == most else -1 for own, most in zip(mine, slowest, strict=True)])
    medians = world.to_root(median(mine) / 1e9 if mine else None) or []
    return Times(slowest=seconds(slowest), slowest_rank=ranks, median_by_rank=medians)


def seconds(times: list[int]) -> list[float]:
    """Return nanoseconds as seconds."""
    return [time / 1e9 for time in times]
