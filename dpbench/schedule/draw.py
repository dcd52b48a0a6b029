"""A schedule as one draws it on a board: round by round, who sends what to whom, and what everybody then holds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dpbench.schedule.count import Traffic, total, traffic
from dpbench.schedule.faults import Fault
from dpbench.schedule.lockstep import Lockstep, Together
from dpbench.schedule.play import Programs
from dpbench.schedule.round import Op, Round
from dpbench.schedule.simulate import faults_of


class Message(NamedTuple):
    """Neighbouring chunks, of so many elements, on their way."""

    source: int
    dest: int
    chunks: range
    elements: int
    op: Op  #: what it does at `dest`


class Copied(NamedTuple):
    """Neighbouring chunks of a rank's own gradient that it copies to its result."""

    rank: int
    chunks: range


class Change(NamedTuple):
    """A chunk that a rank has after a round: the sum of the gradients of these ranks, a bit mask."""

    rank: int
    chunk: int
    ranks: int


@dataclass(frozen=True)
class DrawnRound:
    """One round of all ranks."""

    phases: tuple[str, ...]  #: what the ranks that do something call it
    messages: tuple[Message, ...]  #: by receiver, then by sender
    copies: tuple[Copied, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Drawing:
    """A schedule, played. A chunk is a range of elements that no transfer cuts."""

    count: int  #: elements of a gradient
    workers: range
    servers: range
    chunks: tuple[tuple[int, int], ...]  #: in order; together they are the gradient
    rounds: tuple[DrawnRound, ...]
    traffic: tuple[Traffic, ...]  #: of each rank, in elements
    faults: tuple[Fault, ...]  #: why the schedule is none of an all-reduce; empty where all is well

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return len(self.traffic)

    @property
    def everyone(self) -> int:
        """What a complete chunk is the sum of."""
        return sum(1 << worker for worker in self.workers)

    def states(self) -> Iterator[list[list[int]]]:
        """Yield what each rank holds of each chunk, at the start and after each round: always the same lists.

        A worker starts with its gradient, which its result then takes the place of, as on a board.
        """
        own = [1 << rank if rank in self.workers else 0 for rank in range(self.ranks)]
        held = [[mine] * len(self.chunks) for mine in own]
        yield held
        for round_ in self.rounds:
            for rank, chunk, ranks in round_.changes:
                held[rank][chunk] = ranks
            yield held


def draw(plan: Programs, count: int, workers: range, servers: range = range(0)) -> Drawing:
    """Play the schedules of all ranks, one slice each, and return what happens."""
    play = Lockstep(plan, count, workers)
    rounds = tuple(drawn(together, play) for together in play.rounds())
    return Drawing(
        count,
        workers,
        servers,
        tuple(zip(play.bounds, play.bounds[1:], strict=False)),
        rounds,
        tuple(total(traffic(slices[0], itemsize=1)) for slices in plan),
        tuple(faults_of(play, plan, count, workers)),
    )


def drawn(together: Together, play: Lockstep) -> DrawnRound:
    """Return the picture of a round that has just been played."""

    def chunks(lo: int, hi: int) -> range:
        return range(play.cell[lo], play.cell[hi])

    messages = tuple(
        Message(source.rank, dest.rank, chunks(send.lo, send.hi), send.hi - send.lo, op)
        for (source, send, dest, _), op in together.messages
    )
    copies = tuple(Copied(lane.rank, chunks(*copy)) for lane, copy in together.copies)
    written = {(message.dest, chunk) for message in messages for chunk in message.chunks}
    written |= {(copy.rank, chunk) for copy in copies for chunk in copy.chunks}
    changes = tuple(Change(rank, chunk, play.held["output"][rank][chunk]) for rank, chunk in sorted(written))
    return DrawnRound(tuple(together.phases), messages, copies, changes)


def plan_within(
    rounds: Callable[[int], Iterable[Round]], ranks: int, most_messages: int
) -> list[list[list[Round]]] | None:
    """Return what every rank does, in one slice; None if there are more messages than that."""
    plan, messages = [], 0
    for rank in range(ranks):
        mine = list(rounds(rank))
        messages += sum(len(round_.sends) for round_ in mine)
        if messages > most_messages:
            return None
        plan.append([mine])
    return plan
