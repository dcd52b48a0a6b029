"""What one launch observed of one measurement, as a result file tells it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Identity(NamedTuple):
    """What was asked for: observations that agree in all of it are of the same measurement."""

    strategy: str
    operation: str
    bytes: int
    dtype: str
    ranks: int
    workers: int | None
    nodes: int
    device: str
    cadence: str
    servers: int | None
    dedicated: int | None
    slices_requested: str
    thread_level: str
    phase: str = ""  #: the part of it, empty for the whole


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A row of one launch. Times in seconds; None where the row gives none."""

    identity: Identity
    run_id: str
    quality: str
    median: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    reason: str = ""
    resolved: Mapping[str, str] = field(default_factory=dict)  #: what became of the request, and facts of the run

    @property
    def wrong(self) -> bool:
        """Whether the result was wrong: then no time counts."""
        return self.quality == "invalid"

    @property
    def timed(self) -> bool:
        """Whether there is a time to compare."""
        return self.quality in ("ok", "warn") and bool(self.median)


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """One file of results, read."""

    path: str
    observations: tuple[Observation, ...]
    notes: tuple[str, ...] = ()  #: what the user should know about the file
