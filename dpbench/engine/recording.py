"""When each phase begins and ends on this rank, and the time inside additions: compiled in only where asked for.

The clock is read in steps of their own, one wherever a lane goes from one phase to the next, so what runs the lanes
knows nothing of it. One reading ends a phase and begins another, and the sample's own two readings begin the first
and end the last: the phases of a single slice add up to the sample.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter_ns

from dpbench.devices.base import Call
from dpbench.engine.steps import Step, in_turn
from dpbench.schedule.round import Round


@dataclass(slots=True)
class Run:
    """What one exchange showed, in nanoseconds."""

    begun: dict[str, int] = field(default_factory=dict)  #: by phase, the first time
    ended: dict[str, int] = field(default_factory=dict)  #: the last time
    adding: int = 0
    start: int = 0  #: of the sample
    ahead: str | None = None  #: a phase that lasts until the next one begins

    def span(self, phase: str) -> tuple[int, int]:
        """Return when a phase first began and last ended, since the start; twice 0 if this rank has no such phase."""
        return self.begun.get(phase, self.start) - self.start, self.ended.get(phase, self.start) - self.start


class Recorder:
    """Records the exchanges of one (strategy, size) of this rank."""

    def __init__(self, times_additions: bool, clock: Callable[[], int] = perf_counter_ns) -> None:
        self.times_additions = times_additions  #: not where a call only begins them
        self.clock = clock
        self.run = Run()
        self.runs: list[Run] = []

    def begin(self) -> None:
        """Begin the record of an exchange: outside the timed region, as it allocates."""
        self.run = Run()
        self.runs.append(self.run)

    def close(self, start: int, end: int) -> None:
        """End the record: the first phase begins and the last one ends with the sample, whatever that way takes."""
        begun, ended, self.run.start = self.run.begun, self.run.ended, start
        if self.run.ahead is not None:  # nothing followed
            ended[self.run.ahead] = end
        if begun:
            begun[min(begun, key=begun.__getitem__)] = start
            ended[max(ended, key=ended.__getitem__)] = end

    def take(self, count: int) -> list[Run]:
        """Return the last `count` records and forget all."""
        taken, self.runs = self.runs[-count:], []
        return taken

    def steps(self, rounds: Iterable[Round], step: Callable[[Round], Step | None]) -> Iterator[Step]:
        """Yield the steps of a lane's rounds, and between two phases one that reads the clock."""
        phase: str | None = None
        for each in rounds:
            if each.phase != phase:
                yield reading(self.turn, phase, each.phase)
                phase = each.phase
            if made := step(each):
                yield made
        if phase is not None:
            yield reading(self.turn, phase, None)

    def turn(self, left: str | None, entered: str | None) -> None:
        """Note that a lane goes from one phase to another."""
        now = self.clock()
        if left is None:
            left, self.run.ahead = self.run.ahead, None
        if left is not None:
            self.run.ended[left] = now
        if entered is not None:
            self.run.begun.setdefault(entered, now)

    def calls(self, phases: Mapping[str, Call]) -> Call:
        """Return a call that makes those of the phases, one after the other, and reads the clock around them."""
        last: str | None = None
        calls: list[Call] = []
        for name, call in phases.items():
            calls += partial(self.turn, last, name), call
            last = name
        return partial(in_turn, *calls, partial(self.turn, last, None))

    def leading(self, phase: str, call: Call) -> Call:
        """Return a call as a phase of its own, which ends when the exchange that follows begins its first."""
        return partial(self.lead, phase, call)

    def lead(self, phase: str, call: Call) -> None:
        """Begin the phase and make its call."""
        self.turn(None, phase)
        self.run.ahead = phase
        call()

    def watched(self, addition: Call) -> Call:
        """Return the addition, timed where its call returns when it is complete."""
        return partial(self.add, addition) if self.times_additions else addition

    def add(self, addition: Call) -> None:
        """Add, and count the time."""
        start = self.clock()
        addition()
        self.run.adding += self.clock() - start


def reading(turn: Callable[[str | None, str | None], None], left: str | None, entered: str | None) -> Step:
    """Return a step that only reads the clock."""
    return Step([partial(turn, left, entered)], [], [], [], [])
