"""Where a run got less than its batch system was asked for, or than its machines have: notes above the tables."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dpbench.engine.hosts import allowed_cores, crowd, machine_identity
from dpbench.measure.advice import Finding, about_tasks
from dpbench.units import format_numbers

if TYPE_CHECKING:
    from dpbench.engine.world import World


class Seat(NamedTuple):
    """Where a rank is, and on which cores."""

    machine: str
    host: str
    cores: set[int]  #: those that the rank may use
    all_cores: int  #: how many the machine has


def mismatches(world: "World", environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the notes; rank 0's count, for it has the variables. Collective."""
    mine = Seat(machine_identity(), world.host(world.rank), allowed_cores(), os.cpu_count() or 1)
    found = [*about_tasks(environ, world.size), *about_confined(world.gather(mine))]
    return tuple(f"{fact}: {advice}" for fact, advice in found)


def about_confined(seats: Sequence[Seat]) -> Iterator[Finding]:
    """Yield which ranks share cores although their machine has more: of the first machine where any do."""
    machines: dict[str, list[int]] = {}
    for rank, seat in enumerate(seats):
        machines.setdefault(seat.machine, []).append(rank)
    found = []
    for ranks in machines.values():
        crowded, cores = crowd([seats[rank].cores for rank in ranks])
        if crowded and len(cores) < seats[ranks[0]].all_cores:
            found.append(([ranks[index] for index in crowded], cores))
    if found:
        ranks, cores = found[0]
        seat = seats[ranks[0]]
        others = ", as on other machines" if len(found) > 1 else ""
        yield Finding(
            f"ranks {format_numbers(ranks)} share {len(cores)} of the {seat.all_cores} cores of {seat.host}{others}",
            "ask for one each (--cpus-per-task), and bind: srun --cpu-bind=cores, mpirun --bind-to core",
        )
