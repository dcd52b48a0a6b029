"""The phases of a case: what they put on the ports of all ranks, and the samples of their times."""

from collections.abc import Container, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from dpbench.engine.recording import Recorder, Run
from dpbench.schedule.count import Traffic, adding, outward, traffic, updating
from dpbench.schedule.round import UPDATE, Round
from dpbench.strategies.base import Roles

if TYPE_CHECKING:  # what is measured can be described without MPI
    from dpbench.engine.world import World

Counts = dict[str, tuple[Traffic, Traffic]]
"""By phase: what a rank sends and receives, and the part of it to and from other nodes."""


class Told(NamedTuple):
    """What every rank tells of its schedule."""

    counts: Counts
    adding: list[str]  #: the phases in which it adds
    updating: list[str]  #: the phases in which it updates weights


class Phases:
    """The phases of one case on this rank."""

    def __init__(
        self,
        told: Sequence[Told],
        roles: Roles,
        nodes: list[list[int]],
        recorder: Recorder,
        before: Sequence[str] = (),
    ) -> None:
        """`before` are phases that come first and of whose bytes nothing is known."""
        self.roles = roles
        self.nodes = nodes
        self.recorder = recorder
        phases = list(dict.fromkeys(name for each in told for name in each.counts))
        nothing = (Traffic(), Traffic())
        travelling = {name for each in told for name, (all_of_it, _) in each.counts.items() if all_of_it != Traffic()}
        local = {UPDATE, *(name for each in told for name in each.updating)} - travelling
        self.counts = {name: [each.counts.get(name, nothing) for each in told] for name in phases if name not in local}
        # A server aggregates; where there is none everybody adds.
        self.additions = "aggregate" if roles.servers else "additions"
        adds = {name for each in told for name in each.adding}
        first = next((index for index, name in enumerate(phases) if name in adds), None)
        if first is not None:
            phases.insert(first + 1, self.additions)
        self.names = [*before, *phases]
        self.timed = [name for name in self.names if recorder.times_additions or name != self.additions]
        self.forget()

    def forget(self) -> None:
        """Forget all samples."""
        self.samples: dict[str, list[float]] = {name: [] for name in self.timed}  #: of all ranks together
        self.mine: dict[str, list[float]] = {name: [] for name in self.timed}  #: of this rank
        self.medians: dict[str, list[float]] = {}  #: of every rank; by `finish`

    def add(self, world: "World", iterations: int) -> None:
        """Take in the last iterations. Collective.

        A phase lasts from when the last rank has entered it to when the last rank has left it, each since its own
        start. Of one slice that is where the phase before it ended, so phases add up to the sample. A single rank
        would not do: where a send is over when a socket took it, a master leaves long before its bytes arrive.
        """
        own = [self.span(run, name) for run in self.recorder.take(iterations) for name in self.timed]
        last = world.maxima([mark for span in own for mark in span])
        together = list(zip(last[::2], last[1::2], strict=True))
        for index, name in enumerate(self.timed):
            self.samples[name] += [(left - entered) / 1e9 for entered, left in together[index :: len(self.timed)]]
            self.mine[name] += [(left - entered) / 1e9 for entered, left in own[index :: len(self.timed)]]

    def span(self, run: Run, name: str) -> tuple[int, int]:
        """Return when this rank entered and left a phase; for additions 0 and the time inside them."""
        return (0, run.adding) if name == self.additions else run.span(name)

    def finish(self, world: "World") -> None:
        """Learn the medians of all ranks. Collective."""
        if any(self.mine.values()):
            everybodys = world.gather([median(self.mine[name]) for name in self.timed])
            self.medians = dict(zip(self.timed, map(list, zip(*everybodys, strict=True)), strict=True))


def tell(rounds: list[Round], itemsize: int, here: Container[int]) -> Told:
    """Return what a rank has to tell of its rounds; `here` are the ranks of its node."""
    everything, outside = traffic(rounds, itemsize), traffic(outward(rounds, here), itemsize)
    counts = {name: (each, outside[name]) for name, each in everything.items()}
    return Told(counts, adding(rounds), updating(rounds))
