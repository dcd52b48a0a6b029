"""One case under way: what it exchanges, what it should leave behind, and the samples so far."""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from dpbench.engine.exchange import Exchange
from dpbench.measure.expected import Expected
from dpbench.measure.phases import Phases
from dpbench.measure.plan import Plan
from dpbench.measure.raw import Own
from dpbench.measure.spread import Spread
from dpbench.measure.streaming import back_to_back
from dpbench.results.link import Load
from dpbench.results.raw import Raw
from dpbench.units import now


class Ports(NamedTuple):
    """The bytes of one exchange as counted from the schedules of all ranks."""

    total: int  #: sent by all ranks together
    busiest_rank: int
    busiest_rank_bytes: int  #: through the busier direction of that rank's port
    load: Load  #: on what lies between the nodes


@dataclass
class Case:
    """One strategy at one size, on this rank."""

    plan: Plan
    started_at: str
    exchange: Exchange | None = None  #: None, as what follows, when it is skipped or over
    expected: Expected | None = None
    ports: Ports | None = None  #: None for library calls, which do not tell
    phases: Phases | None = None  #: where they were asked for and the strategy has some
    samples: list[float] = field(default_factory=list)  #: seconds; maximum over ranks, per iteration
    own: Own = field(default_factory=Own)  #: this rank's times
    raw: Raw | None = None  #: everybody's, on rank 0, where they are to be kept
    spread: Spread = field(default_factory=Spread)  #: of the ranks' samples, where they share a clock
    slowed: str = ""  #: which GPU was held back meanwhile, and why
    elapsed: float = 0.0  #: seconds on rank 0 that the samples took, with all that belongs to them
    slowest: float = 0.0  #: seconds of the slowest exchange so far, whatever for
    exchanges: int = 0  #: so far, whatever for; a stream counts as one
    stream: int = 1  #: exchanges that make one sample, back to back
    warmups: int = 0
    wrong: int | None = None  #: elements, over all ranks; None without a check
    stop_reason: str | None = None
    finished_at: str = ""
    reason: str | None = None  #: why it was skipped

    @property
    def running(self) -> Exchange:
        """The exchange of a case that is not over."""
        assert self.exchange is not None
        return self.exchange

    @property
    def result(self) -> Expected:
        """What must come of a case that is not over."""
        assert self.expected is not None
        return self.expected

    @property
    def skew(self) -> float | None:
        """Seconds from the first rank's start to the last one's, the median; None where clocks cannot be compared."""
        return self.spread.skew_s

    def lengthen(self, stream: int) -> None:
        """Make each exchange from now on a stream of so many, and its time their mean."""
        self.stream = stream
        self.running.run = partial(back_to_back, self.running.run, stream)

    def release(self) -> None:
        """Give back requests and memory; the figures stay."""
        if self.exchange is not None:
            self.exchange.close()
        self.exchange = self.expected = None

    def finish(self, stop_reason: str | None = None) -> None:
        """Note that nothing more will be measured."""
        self.stop_reason = stop_reason
        self.finished_at = now()


def skipped(plan: Plan, reason: str) -> Case:
    """Return the case of a plan that is not measured."""
    case = Case(plan, started_at=now(), reason=reason)
    case.finish()
    return case
