"""Where results go while the run is under way."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from dpbench.errors import PlatformError
from dpbench.measure.agree import on_root
from dpbench.results.facts import RunFacts
from dpbench.results.phases import Breakdown

if TYPE_CHECKING:
    from dpbench.engine.world import World


class Output(Protocol):
    """What takes the results, on rank 0. A DpbenchError that it raises ends the run on every rank."""

    def begin(self, facts: RunFacts, cases: int, background: Mapping[str, Any]) -> None:
        """Take the facts before the first measurement, and what else is to be kept; so many cases follow."""

    def step(self, label: str) -> None:
        """Take notice that the next case is under way."""

    def say(self, text: str) -> None:
        """Pass a message on to whoever waits."""

    def size(self, parts: Sequence[Breakdown]) -> None:
        """Take the rows of a size, with their phases if those were asked for: they are safe when it returns."""

    def stop(self, reason: str, missing: Sequence[Breakdown] = ()) -> None:
        """End it before all is measured: mark it incomplete; `missing` are the skipped rows of what is not measured.

        Never raises, and may come at any time, before `begin` too.
        """

    def end(self, after: Sequence[Mapping[str, Any]] = ()) -> None:
        """Take notice that all is measured, and of the state of the nodes after it.

        Raises a DpbenchError if some of it could not be kept.
        """


class RootOutput:
    """Rank 0's output for all ranks to call: what goes wrong there stops everybody."""

    def __init__(self, world: "World", open_output: Callable[[], Output]) -> None:
        self.world = world
        self.output: Output | None = None

        def opened() -> None:
            self.output = open_output()

        on_root(world, opened)

    def begin(self, facts: RunFacts, cases: int, background: Mapping[str, Any]) -> None:
        """Collective."""
        on_root(self.world, lambda: self.output.begin(facts, cases, background) if self.output else None)

    def size(self, parts: Sequence[Breakdown]) -> None:
        """Collective."""
        on_root(self.world, lambda: self.output.size(parts) if self.output else None)

    def stop(self, reason: str, missing: Sequence[Breakdown] = ()) -> None:
        """Collective: returns when the output is marked incomplete and closed."""
        on_root(self.world, lambda: self.output.stop(reason, missing) if self.output else None)

    def end(self, after: Sequence[Mapping[str, Any]] = ()) -> None:
        """Collective."""
        on_root(self.world, lambda: self.output.end(after) if self.output else None)

    def step(self, label: str) -> None:
        """Not collective."""
        if self.output:
            with suppress(PlatformError):  # what cannot be shown is no reason to stop, least of all on one rank
                self.output.step(label)

    def say(self, text: str) -> None:
        """Not collective."""
        if self.output:
            with suppress(PlatformError):
                self.output.say(text)
