"""The facts of a run that all of its rows share."""

from dataclasses import dataclass

from dpbench.results.link import Link
from dpbench.results.record import BARRIER


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What a person needs to know before trusting any number of the run."""

    run_id: str
    version: str
    command: str
    started_at: str  #: UTC, ISO 8601
    mpi_library: str  #: name and version
    thread_level: str
    ranks: int
    hosts: tuple[str, ...]  #: the distinct nodes, in the order of their first ranks
    crowded: bool  #: some node has more ranks than cores
    scopes: dict[str, str]  #: by device: network, intra-node-gpu, shared-gpu, host-memory
    dtype: str
    seed: int
    cadence: str = BARRIER
    links: dict[str, Link]  #: by device; empty where there is one node, or no calibration
    floor_s: float  #: what an exchange of nothing takes, timed in the same way
    notes: tuple[str, ...] = ()  #: what was adjusted and the user should read
