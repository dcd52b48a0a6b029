"""Playing a schedule as one draws it: everything that can move moves together, and that is one round.

A rank goes on when all transfers of its own round are complete, so ranks may be in different rounds of their
schedules: a message travels as soon as both of its ends have begun. Where all ranks do the same, round i of the
play is round i of every rank.
"""

from collections.abc import Iterator
from typing import NamedTuple

from dpbench.schedule.play import Lane, Message, Play, Programs
from dpbench.schedule.round import Copy, Op


class Together(NamedTuple):
    """What happens in one round of all ranks: messages, each with what it does at its receiver, then copies."""

    messages: list[tuple[Message, Op]]
    copies: list[tuple[Lane, Copy]]

    @property
    def phases(self) -> list[str]:
        """The names that the ranks give to what they do, each once."""
        names = [lane.round.phase for (source, _, dest, _), _ in self.messages for lane in (source, dest)]
        return list(dict.fromkeys([*names, *(lane.round.phase for lane, _ in self.copies)]))


class Lockstep(Play):
    """A play in rounds of all ranks. What arrives together is served in the order of the senders."""

    def __init__(self, plan: Programs, count: int, workers: range) -> None:
        super().__init__(plan, count, workers)
        self.active = set(self.lanes.values())

    def rounds(self) -> Iterator[Together]:
        """Play, and yield each round when it has happened and its lanes have not yet gone on."""
        for lane in self.lanes.values():
            self.begin(lane)
        while True:
            moving, self.matched = sorted(self.matched, key=by_receiver), []
            messages = [(message, self.arrive(message)) for message in moving]
            done = [lane for lane in self.lanes.values() if lane in self.active and not lane.missing]
            for lane in done:
                self.work(lane)
            if not messages and not done:
                return
            local = [(lane, work) for lane in done for work in lane.round.local]
            yield Together(messages, [(lane, work) for lane, work in local if isinstance(work, Copy)])
            for lane in done:
                self.begin(lane)

    def begin(self, lane: Lane) -> None:
        """Start the lane's next round that has something to do: the others take no time."""
        while lane.next_round():
            self.post(lane)
            if lane.missing or lane.round.local:
                return
        self.active.remove(lane)

    def arrive(self, message: Message) -> Op:
        """Deliver the message and return what it does at its receiver."""
        source, _, dest, recv = message
        op = dest.ops[recv[1:3]][-1]
        self.deliver(message)
        source.missing -= 1
        dest.missing -= 1
        return op


def by_receiver(message: Message) -> tuple[int, int, int]:
    """Return where a message stands among those that travel together."""
    source, send, dest, _ = message
    return dest.rank, source.rank, send.lo
