"""The facts that rows share: of a run, and of the ranks that take part at a time."""

from dataclasses import dataclass, field

from dpbench.results.link import Link
from dpbench.results.record import BARRIER


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What a person needs to know before trusting any number that some ranks have measured."""

    run_id: str
    version: str
    command: str
    started_at: str  #: UTC, ISO 8601
    mpi_library: str  #: name and version
    thread_level: str
    ranks: int
    hosts: tuple[str, ...]  #: the distinct nodes, in the order of their first ranks
    crowded: str  #: which machine has fewer cores than ranks; empty if none
    scopes: dict[str, str]  #: by device: network, intra-node-gpu, shared-gpu, host-memory
    dtype: str
    seed: int
    cadence: str = BARRIER
    links: dict[str, Link]  #: by device; empty where there is one node, or no calibration
    floor_s: float | None  #: what an exchange of nothing takes, timed in the same way; None before it was measured
    timer_overhead_s: float  #: of one reading of the clock, on the slowest rank
    timer_resolution_s: float  #: the least step of the clock
    members: tuple[int, ...] = ()  #: the numbers in the job of the ranks that take part, ascending; empty: all
    per_node: tuple[int, ...] = ()  #: of `hosts`, how many of these ranks are there
    ring: tuple[int, ...] = ()  #: these ranks in the order of the ring
    crossings: int = 0  #: hops of the ring from one node to another
    sharing: tuple[str, ...] = ()  #: GPUs that have not one whole rank each
    paths: dict[str, str] = field(default_factory=dict)  #: by device: why it may not be its memory that travels
    notes: tuple[str, ...] = ()  #: what was adjusted and the user should read

    def number(self, rank: int) -> int:
        """Return the number in the job of one of the ranks that take part."""
        return self.members[rank] if self.members else rank
