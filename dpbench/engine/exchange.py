"""Something that leaves the sum on every worker, ready to run: a compiled schedule or a library call."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from dpbench.engine.recording import Recorder
from dpbench.engine.standing import Labels, Outlook
from dpbench.engine.steps import End, Lane, run_lane

if TYPE_CHECKING:  # what is measured can be described without MPI
    from dpbench.engine.wire import Wire

Idle = Callable[[], None]


class Exchange(Protocol):
    """One (strategy, size) of this rank, compiled."""

    run: Callable[[], None]  #: the exchange itself: the timed path
    restore: Callable[[], Any] | None  #: to be called before each run, outside the timed region
    recorder: Recorder | None  #: of the phases, where that was asked for
    outlook: Outlook | None  #: on where it stands, for other threads; a library call does not tell

    def close(self) -> None:
        """Give back what it holds."""


class ScheduleExchange:
    """A compiled schedule."""

    restore: Callable[[], Any] | None = None
    recorder: Recorder | None = None
    outlook: Outlook | None

    def __init__(
        self,
        lanes: list[Lane],
        wire: "Wire",
        idle: Idle | None,
        requests: Sequence[Any] = (),
        *,
        ends: Sequence[End] = (),
        labels: Labels | None = None,
    ) -> None:
        self.wire = wire
        self.requests = list(requests)
        outlook = self.outlook = Outlook(lanes, list(zip(self.requests, ends, strict=True)), labels)
        pairs = zip(lanes, outlook.standings, strict=True)
        runners = [partial(run_lane, lane, wire, standing) for lane, standing in pairs]
        if len(runners) == 1:
            self.run: Callable[[], None] = partial(run_alone, runners[0], idle)
        else:
            self.run = partial(run_together, runners, idle)

    def close(self) -> None:
        """Free the persistent requests."""
        self.wire.free(self.requests)
        self.requests = []


class LibraryExchange:
    """A library call that works in place: the input is restored before each run."""

    restore: Callable[[], Any] | None = None
    recorder: Recorder | None = None
    outlook: Outlook | None = None

    def __init__(self, run: Callable[[], None]) -> None:
        self.run: Callable[[], None] = run

    def close(self) -> None:
        """Nothing is held."""


def run_alone(lane: Callable[[], Iterator[None]], idle: Idle | None) -> None:
    """Run the only lane; while it waits let others have the core, where ranks share cores."""
    if idle is None:
        for _ in lane():
            pass
    else:
        for _ in lane():
            idle()


def run_together(lanes: Sequence[Callable[[], Iterator[None]]], idle: Idle | None) -> None:
    """Run lanes in turn, the lowest unfinished slice first."""
    running = [lane() for lane in lanes]
    while running:
        running = [lane for lane in running if next(lane, True) is None]
        if idle is not None:
            idle()
