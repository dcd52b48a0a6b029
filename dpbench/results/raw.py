"""The raw times of a case, as they are kept."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Times:
    """Times of some iterations, in seconds: each rank's own, or, of many ranks, what tells most about them."""

    by_rank: list[list[float]] | None = None  #: of each rank those of all iterations
    slowest: list[float] | None = None  #: or of each iteration the largest,
    slowest_rank: list[int] | None = None  #: and whose it is,
    median_by_rank: list[float | None] | None = None  #: and of each rank the median

    def figures(self) -> dict[str, Any]:
        """Return what there is, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Raw:
    """All times of a case."""

    first: Times  #: of the exchange that was checked before anything else: it may be cold
    warmups: Times
    samples: Times
    stream: int = 1  #: exchanges that make one sample

    @property
    def cold_s(self) -> float | None:
        """What the very first exchange took, on its slowest rank; None if it is not kept."""
        of_ranks = self.first.slowest or [times[0] for times in self.first.by_rank or () if times]
        return max(of_ranks, default=None)
