"""What a row is made of: the phases of its strategy, and what they put on the ports."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dpbench.results.doubt import Doubt
from dpbench.results.metric import GB
from dpbench.results.raw import Raw
from dpbench.results.record import Row


class Port(NamedTuple):
    """A rank's port in a phase. Bytes, and the time of the phase."""

    rank: int
    sent: int
    received: int
    crossing: int  #: in the busier direction, to or from other nodes
    seconds: float | None

    @property
    def rate_in(self) -> float | None:
        """What comes in, in GB/s; None where no time is known."""
        return self.received / self.seconds / GB if self.seconds else None

    @property
    def rate_out(self) -> float | None:
        """What goes out, in GB/s."""
        return self.sent / self.seconds / GB if self.seconds else None

    def share(self, link: float) -> float | None:
        """Return the rate to or from other nodes as a share of `link`, in bytes a second."""
        return self.crossing / self.seconds / link if self.seconds else None


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One phase of a strategy at a size, or the additions within one."""

    row: Row  #: as in the CSV: `operation` names the phase; it lasts until the last rank has left it
    within: bool = False  #: part of the phase before it: not to be added up
    least_s: float | None = None  #: of the ranks' own medians
    most_s: float | None = None
    busiest: Port | None = None  #: None for what sends nothing
    worker: Port | None = None  #: the port of the median worker


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """A row with its phases; none for library calls, which do not tell."""

    row: Row
    phases: tuple[Phase, ...] = ()
    crossing_bytes: int | None = None  #: between nodes, of all ranks
    link: float | None = None  #: B_rank, where it was measured
    raw: Raw | None = None  #: where it is to be kept
    doubts: tuple[Doubt, ...] = ()  #: what the codes of the row mean

    @property
    def overlaps(self) -> bool:
        """Whether one slice's phases fall into another's, so that they do not add up to the whole."""
        return (self.row.slices or 1) > 1


def all_rows(breakdowns: Iterable[Breakdown]) -> Iterator[Row]:
    """Yield each row, and its phases' rows directly after it."""
    for each in breakdowns:
        yield each.row
        yield from (phase.row for phase in each.phases)
