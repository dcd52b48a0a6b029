"""What a strategy is: roles for the ranks, and rounds (or a library call) for one rank."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from dpbench.schedule.round import UPDATE, Round, Update, round_of


@dataclass(frozen=True)
class Roles:
    """Who works (has a gradient, gets the sum) and who serves (aggregates), of `ranks` ranks."""

    ranks: int
    workers: range
    servers: range = range(0)
    ring: Sequence[int] = ()  #: the ranks in the order of a ring, where that is not the order of their numbers

    @property
    def dedicated(self) -> bool:
        """Whether some server is not a worker."""
        return len(self.workers) < self.ranks


class Strategy(ABC):
    """A way to leave the sum of all workers' gradients on every worker."""

    name: ClassVar[str]
    summary: ClassVar[str]  #: one line for `dpbench list`
    ordered: ClassVar[bool] = False  #: whether it matters who comes after whom, as in a ring

    def roles(self, ranks: int, servers: int | None = None, dedicated: bool = False) -> Roles:
        """Return the roles of `ranks` ranks; `servers` and `dedicated` are ignored where they mean nothing.

        Raises Unsuitable where the strategy cannot run on so few ranks.
        """
        return Roles(ranks, workers=range(ranks))


class Scheduled(Strategy):
    """A strategy that describes its rounds; the engine runs them."""

    @abstractmethod
    def rounds(self, rank: int, roles: Roles, lo: int, hi: int) -> Iterator[Round]:
        """Yield the rounds of `rank` for elements `[lo, hi)`: the whole gradient, or one slice of it."""

    def step(self, rank: int, roles: Roles, lo: int, hi: int) -> Iterator[Round]:
        """Yield the rounds of a training step: the gradients are summed, then each worker updates its weights."""
        yield from self.rounds(rank, roles, lo, hi)
        yield round_of(UPDATE, local=[Update(lo, hi)] if rank in roles.workers else [])

    def describe(self, trains: bool) -> Callable[[int, Roles, int, int], Iterator[Round]]:
        """Return what describes a training step, or the exchange alone."""
        return self.step if trains else self.rounds

    @abstractmethod
    def pieces(self, roles: Roles) -> int:
        """Return how many messages one slice is cut into on its way: the slice rule keeps them large."""

    def overlap(self, roles: Roles) -> int:
        """Return how many slices, if they are large enough, keep the ports of a network busy.

        Of K slices, two at a time, the start of the first and the end of the last overlap with no other.
        """
        return 32


class Library(Strategy):
    """A strategy that is one call of a communication library: it has no schedule."""

    in_place: ClassVar[bool] = False  #: whether the sum replaces the gradient, which has to be restored each time

    @abstractmethod
    def prepare(self, calls: "LibraryCalls", gradient: Any, output: Any, dtype: str) -> Callable[[], None]:
        """Return a call that leaves the sum in `output`; before each call that holds a copy of the rank's `gradient`.

        Raises Unsuitable where the library cannot do the dtype.
        """


class LibraryCalls(Protocol):
    """The library calls that the engine offers to `Library` strategies."""

    def allreduce(self, gradient: Any | None, output: Any, dtype: str) -> Callable[[], None]:
        """Return a call of MPI_Allreduce(gradient, output, SUM), without a gradient in place."""
