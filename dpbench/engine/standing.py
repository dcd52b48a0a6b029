"""Where an exchange stands and whom it waits for, seen from outside: nothing of it is kept for that while it runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import length_hint
from typing import Any, NamedTuple

from dpbench.engine.recording import Recorder
from dpbench.engine.steps import End, Lane, Standing, Step, Transfer
from dpbench.schedule.round import Round

MOST_PEERS = 8  # that are named


class Label(NamedTuple):
    """What a step is, in the words of the schedule; slices and rounds count from 1."""

    slice: int
    round: int
    phase: str
    ends: tuple[End, ...]  #: its messages


class Labels:
    """The labels of an exchange's steps: its schedule is asked again, should anybody want to know."""

    def __init__(
        self,
        rounds: Callable[[int], Iterable[Round]],
        slices: int,
        lanes: int,
        recorder: Recorder | None,
        numbers: Sequence[int] = (),
    ) -> None:
        self.rounds, self.slices, self.lanes, self.recorder = rounds, slices, lanes, recorder
        self.numbers = numbers  #: of the ranks in the job, where they have others among themselves

    def label(self, lane: int, step: int) -> Label | None:
        """Return the label of a lane's step; None for one that only reads the clock."""
        slices = range(lane, self.slices, self.lanes)
        rounds = (Numbered(j, number, each) for j in slices for number, each in enumerate(self.rounds(j)))
        labels: Iterator[Any] = filter(None, map(label_of, rounds))
        if self.recorder:
            labels = self.recorder.steps(rounds, label_of)  # type: ignore[arg-type]
        found = next(islice(labels, step, None), None)
        return found if isinstance(found, Label) else None


class Numbered(NamedTuple):
    """A round and its place in the schedule."""

    slice: int
    number: int
    round: Round

    @property
    def phase(self) -> str:
        """The round's phase."""
        return self.round.phase


def label_of(numbered: Numbered) -> Label | None:
    """Return the label of a round, if it has anything to do: else it is no step."""
    each = numbered.round
    if not (each.sends or each.recvs or each.local):
        return None
    ends = [("recv", recv.peer) for recv in each.recvs] + [("send", send.peer) for send in each.sends]
    return Label(numbered.slice + 1, numbered.number + 1, each.phase, tuple(ends))


def step_of(standing: Standing) -> int | None:
    """Return which step a lane is in; None if it has not begun or is over."""
    _, _, *index = tuple[Any, ...](standing.steps.__reduce__())
    return index[0] - 1 if index and index[0] else None


def unfinished(step: Step, standing: Standing, ends: dict[int, End]) -> list[End] | None:
    """Return the messages of a step that are not complete, as MPI tells; None if it cannot be asked.

    `ends` tells the end of a persistent request by its identity.
    """
    if step.requests:
        return [ends[id(request)] for request in step.requests if not request.Get_status()]
    if not step.chains:
        return None
    _, current, requests = standing.chains
    pairs = zip(current, requests, strict=True)
    return [end_of(transfer, ends) for transfer, request in pairs if not request.Get_status()]


def end_of(transfer: Transfer, ends: dict[int, End]) -> End:
    """Return the end of a transfer; one without a persistent request has it among the arguments of its start."""
    if transfer.request is not None:
        return ends[id(transfer.request)]
    start: Any = transfer.start
    return "send" if start.func.__name__ == "Isend" else "recv", start.args[1]


def waits_for(ends: Iterable[End], numbers: Sequence[int] = ()) -> str:
    """Return `rank 1 to send`, or more of them; `numbers` are what the ranks are called, if not as in `ends`."""
    texts = []
    for kind, does in (("recv", "send"), ("send", "receive")):
        peers = sorted({numbers[peer] if numbers else peer for each, peer in ends if each == kind})
        if peers:
            names = ", ".join(map(str, peers[:MOST_PEERS])) + (", ..." if len(peers) > MOST_PEERS else "")
            texts.append(f"rank{'s' if len(peers) > 1 else ''} {names} to {does}")
    return " and ".join(texts)


class Outlook:
    """What can be seen of a schedule's exchange."""

    def __init__(self, lanes: Sequence[Lane], ends: Iterable[tuple[Any, End]], labels: Labels | None) -> None:
        self.lanes = lanes
        self.standings = [Standing() for _ in lanes]
        self.ends = ends
        self.labels = labels

    def progress(self) -> tuple[Any, ...]:
        """Return something that changes whenever a round, or a message of a chain, is done."""
        return tuple((step_of(each), *map(length_hint, each.chains[0])) for each in self.standings)

    def fraction(self) -> float:
        """Return how much of the steps is done: who stands furthest back is nearest to the cause."""
        done = [step_of(each) for each in self.standings]
        return sum(step or 0 for step in done) / max(1, sum(len(lane.steps) for lane in self.lanes))

    def text(self, asks_mpi: bool) -> str:
        """Return where the exchange stands; only the main thread may ask MPI which messages are not complete."""
        found = self.foremost()
        if found is None or self.labels is None:
            return "has not begun its first round"
        lane, step, label = found
        if label is None:
            return "reads the clock"
        made, standing = self.lanes[lane].steps[step], self.standings[lane]
        pending = unfinished(made, standing, {id(request): end for request, end in self.ends}) if asks_mpi else None
        place = f"slice {label.slice} of {self.labels.slices}, round {label.round} ({label.phase})"
        if pending == [] or not label.ends:
            return f"{place} works on what it has"
        return f"{place} waits for {waits_for(label.ends if pending is None else pending, self.labels.numbers)}"

    def foremost(self) -> tuple[int, int, Label | None] | None:
        """Return the lane that holds up the others, its step and its label: that of the lowest slice under way."""
        found = [
            (lane, step, self.labels.label(lane, step) if self.labels else None)
            for lane, standing in enumerate(self.standings)
            if (step := step_of(standing)) is not None
        ]
        return min(found, key=lambda each: each[2].slice if each[2] else 0, default=None)
