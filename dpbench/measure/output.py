"""Where results go while the run is under way."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from dpbench.errors import PlatformError
from dpbench.measure.agree import on_root
from dpbench.measure.planted import reach
from dpbench.results.facts import RunFacts
from dpbench.results.phases import Breakdown

if TYPE_CHECKING:
    from dpbench.engine.world import World


Missing = Callable[[str], Sequence[Breakdown]]
"""Returns the skipped rows of what is to come, for a reason."""


class Output(Protocol):
    """What takes the results, on rank 0. A DpbenchError that it raises ends the run on every rank."""

    def begin(self, facts: RunFacts, cases: int, background: Mapping[str, Any]) -> None:
        """Take the facts before the first measurement, and what else is to be kept; so many cases follow."""

    def group(self, facts: RunFacts) -> None:
        """Take the facts about the ranks whose rows follow."""

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

    def abandon(self, reason: str) -> None:
        """Close its files after an error, which is told elsewhere. Never raises."""

    def end(self, after: Sequence[Mapping[str, Any]] = ()) -> None:
        """Take notice that all is measured, and of the state of the nodes after it.

        Raises a DpbenchError if some of it could not be kept.
        """


class RootOutput:
    """Rank 0's output for all ranks to call: what goes wrong there stops everybody."""

    def __init__(self, world: "World", open_output: Callable[[], Output]) -> None:
        self.world = world
        self.output: Output | None = None
        self.missing: list[Missing] = [lambda reason: ()]  #: the one that holds, shared with those of parts
        self.busy = Lock()  #: while it is at work: another thread may have the last word

        def opened() -> None:
            self.output = open_output()

        on_root(world, opened)

    def among(self, world: "World") -> "RootOutput":
        """Return the same output, for the ranks of a part to call."""
        shared = copy(self)
        shared.world = world
        return shared

    def on_root(self, action: Callable[[Output], None]) -> None:
        """Let rank 0 do something with its output; collective."""

        def alone() -> None:
            if self.output:
                with self.busy:
                    action(self.output)

        on_root(self.world, alone)

    def begin(self, facts: RunFacts, cases: int, background: Mapping[str, Any]) -> None:
        """Collective."""
        self.on_root(lambda output: output.begin(facts, cases, background))

    def group(self, facts: RunFacts) -> None:
        """Collective."""
        self.on_root(lambda output: output.group(facts))

    def size(self, parts: Sequence[Breakdown]) -> None:
        """Collective."""

        def written(output: Output) -> None:
            reach("writing", self.world.rank, self.world.size)
            output.size(parts)

        self.on_root(written)

    def stop(self, reason: str, missing: Sequence[Breakdown] = ()) -> None:
        """Collective: returns when the output is marked incomplete and closed."""
        self.on_root(lambda output: output.stop(reason, missing))

    def end(self, after: Sequence[Mapping[str, Any]] = ()) -> None:
        """Collective."""
        self.on_root(lambda output: output.end(after))

    def comes(self, missing: Missing) -> None:
        """Note what is still to come, for who stops it meanwhile. Not collective."""
        self.missing[0] = missing

    def give_up(self, reason: str) -> None:
        """Stop it from another thread, before a rank ends the job: nothing follows. Not collective."""
        if self.output:
            self.busy.acquire()  # and never give it back
            self.output.stop(reason, self.missing[0](reason))

    def abandon(self, reason: str) -> None:
        """Not collective."""
        if self.output:
            self.output.abandon(reason)

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
