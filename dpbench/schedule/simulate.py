"""Playing the schedules of all ranks in one process: does every rank end, and with the sum?

A lane of a rank runs one slice at a time, round after round, and is the tag of its messages. Messages match
as in MPI: first in, first out per source, destination and tag. Sends are synchronous: they complete with
their receive, because eager buffering would hide deadlocks. The sends of a round start in any order and
matched messages arrive in any order: both are drawn at random.

A value is the set of ranks whose gradients it sums; the empty set is memory that nobody wrote. Both ends of a
message must name the same range, so no value can end up at another index; what else can be wrong is a
gradient that is missing or counted twice. This is exact for any count: all elements of a range that no
transfer cuts have the same value.
"""

from collections.abc import Callable, Iterable
from functools import partial

from dpbench.schedule.faults import Fault, Place, hazards, ranks_of
from dpbench.schedule.partition import part, sliced
from dpbench.schedule.play import Play, Programs
from dpbench.schedule.round import Round, Target


def programs(
    rounds: Callable[[int, int, int], Iterable[Round]], ranks: int, count: int, slices: int = 1
) -> list[list[list[Round]]]:
    """Return what every rank does for `count` elements, from `rounds(rank, lo, hi)`."""
    return [[list(one) for one in sliced(partial(rounds, rank), count, slices)] for rank in range(ranks)]


def simulate(
    plan: Programs,
    count: int,
    workers: range,
    *,
    lanes: int = 1,
    credits: int | None = None,
    seed: int = 1,
    target: Target = "output",
) -> list[Fault]:
    """Play `plan` once and return its faults: none if all ranks end and all workers hold their sum.

    In a training step, whose `target` are the weights, these must be updated by that sum, once. Whatever another
    rank wrote into its target must be right too. `credits` bounds the receives that a lane has posted at a time;
    they are posted in listed order. A `seed` gives always the same interleaving.
    """
    play = Play(plan, count, workers, lanes=lanes, credits=credits, seed=seed)
    play.run()
    return faults_of(play, plan, count, workers, target)


def faults_of(
    play: Play, plan: Programs, count: int, workers: range, target: Target = "output"
) -> list[Fault]:
    """Return the faults of `plan`, which has been played to its end."""
    return [*round_faults(plan, count), *play.faults, *(play.stalls() or wrong_sums(play, count, workers, target))]


def round_faults(plan: Programs, count: int) -> Iterable[Fault]:
    """Find what single rounds show."""
    for rank, slices in enumerate(plan):
        for j, rounds in enumerate(slices):
            extent = part(0, count, len(slices), j)
            for index, round_ in enumerate(rounds):
                for peer, text in hazards(round_, *extent):
                    yield Fault("hazard", rank, Place(j, index), peer, text)


def wrong_sums(play: Play, count: int, workers: range, target: Target) -> list[Fault]:
    """Return the ranges that end as something else than the sum, with their last change."""
    faults: list[Fault] = []
    everyone = sum(1 << worker for worker in workers)
    for rank, held in enumerate(play.held[target]):
        for cell in range(play.cell[0], play.cell[count]):
            if held[cell] != everyone and (held[cell] or rank in workers):
                where = f"[{play.bounds[cell]}, {play.bounds[cell + 1]})"
                text = f"{where} ends without the gradients of {ranks_of(everyone & ~held[cell])}"
                slice_, index, peer = play.writer[rank][cell]
                faults.append(Fault("sum", rank, Place(slice_, index), peer, text))
    return faults
