"""Counting one rank's schedule: bytes and messages, and what its output holds in the end."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from dpbench.schedule.partition import merged
from dpbench.schedule.round import Copy, Round, Target, Update


@dataclass(frozen=True)
class Traffic:
    """What one rank sends and receives."""

    sent: int = 0  #: bytes
    received: int = 0
    messages_sent: int = 0
    messages_received: int = 0

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(
            self.sent + other.sent,
            self.received + other.received,
            self.messages_sent + other.messages_sent,
            self.messages_received + other.messages_received,
        )

    @property
    def busiest(self) -> int:
        """The bytes through the busier direction of a full-duplex port."""
        return max(self.sent, self.received)


def traffic(rounds: Iterable[Round], itemsize: int) -> dict[str, Traffic]:
    """Return the traffic of a rank's rounds, by phase in order of appearance."""
    phases: dict[str, list[int]] = {}
    for round_ in rounds:
        sums = phases.setdefault(round_.phase, [0, 0, 0, 0])
        sums[0] += sum(send.hi - send.lo for send in round_.sends) * itemsize
        sums[1] += sum(recv.hi - recv.lo for recv in round_.recvs) * itemsize
        sums[2] += len(round_.sends)
        sums[3] += len(round_.recvs)
    return {phase: Traffic(*sums) for phase, sums in phases.items()}


def total(phases: dict[str, Traffic]) -> Traffic:
    """Return the traffic of all phases together."""
    return sum(phases.values(), Traffic())


def outward(rounds: Iterable[Round], here: Container[int]) -> Iterator[Round]:
    """Yield the rounds without what stays among the ranks `here`: those of the node."""
    for round_ in rounds:
        yield Round(
            round_.phase,
            tuple(send for send in round_.sends if send.peer not in here),
            tuple(recv for recv in round_.recvs if recv.peer not in here),
        )


def added(rounds: Iterable[Round]) -> int:
    """Return how many elements a rank adds to others."""
    return sum(recv.hi - recv.lo for round_ in rounds for recv in round_.recvs if recv.op != "replace")


def adding(rounds: Iterable[Round]) -> list[str]:
    """Return the phases in which a rank adds to others, in order of appearance."""
    return list(dict.fromkeys(each.phase for each in rounds if any(recv.op != "replace" for recv in each.recvs)))


def updating(rounds: Iterable[Round]) -> list[str]:
    """Return the phases in which a rank updates weights, in order of appearance."""
    return list(dict.fromkeys(each.phase for each in rounds if any(isinstance(one, Update) for one in each.local)))


def updated(rounds: Iterable[Round]) -> list[tuple[int, int]]:
    """Return the ranges of the weights that a rank's rounds update: sorted, merged, not empty."""
    return merged((one.lo, one.hi) for each in rounds for one in each.local if isinstance(one, Update))


def written(rounds: Iterable[Round], target: Target = "output") -> list[tuple[int, int]]:
    """Return the ranges of `target` that a rank's rounds write: sorted, merged, not empty."""
    work = Copy if target == "output" else Update
    ranges = set[tuple[int, int]]()
    for round_ in rounds:
        ranges.update((recv.lo, recv.hi) for recv in round_.recvs if recv.buffer == target)
        ranges.update((one.lo, one.hi) for one in round_.local if isinstance(one, work))
    return merged(ranges)
