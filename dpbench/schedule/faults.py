"""What can be wrong with a schedule, and what of it a single round shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from dpbench.schedule.round import Copy, Recv, Round, Send, Update

Kind = Literal[
    "hazard",  #: ranges of one round collide, or leave the slice
    "mismatch",  #: the two ends of a message name different ranges
    "sum",  #: a gradient is missing or counted twice
    "unmatched",  #: the other end of a message never comes
    "deadlock",  #: the other end never comes because its rank waits too
    "ring",  #: not the textbook's ring
]


class Place(NamedTuple):
    """Where in a rank's schedule: the slice, and the round of that slice."""

    slice: int
    round: int

    def __str__(self) -> str:
        return f"round {self.round} of slice {self.slice}"


@dataclass(frozen=True)
class Fault:
    """Something wrong at `rank` in its round `place`, in what it does with `peer` (None: local work)."""

    kind: Kind
    rank: int
    place: Place
    peer: int | None
    text: str

    def __str__(self) -> str:
        peer = "" if self.peer is None else f", peer {self.peer}"
        return f"{self.kind}: rank {self.rank}, {self.place}{peer}: {self.text}"


def hazards(round_: Round, lo: int, hi: int) -> Iterator[tuple[int | None, str]]:
    """Find ranges outside the slice `[lo, hi)`, and ranges of the output that transfers fight over.

    Yields the peer, None for local work, and what is wrong.
    """
    works: list[Send | Recv | Copy | Update] = [*round_.sends, *round_.recvs, *round_.local]
    for work in works:
        if not lo <= work.lo <= work.hi <= hi:
            peer = work.peer if isinstance(work, Send | Recv) else None
            yield peer, f"{span(work)} is outside the slice [{lo}, {hi})"
    for recv in round_.recvs:
        if recv.buffer == "weights" and recv.op != "replace":
            yield recv.peer, f"{recv.op} {span(recv)}: weights that are received replace the old ones"
    if not round_.recvs:
        return
    received = {recv[1:3]: recv for recv in round_.recvs}
    for send in {send[1:]: send for send in round_.sends}.values():
        for recv in received.values():
            if send.buffer == recv.buffer and send.lo < recv.hi and recv.lo < send.hi:
                yield recv.peer, f"sends {span(send)} to rank {send.peer} while it receives {span(recv)}"
    for one, two in pairwise(sorted(received)):
        if two[0] < one[1]:
            first, second = received[one], received[two]
            yield second.peer, f"receives {span(second)} while it receives {span(first)}"


def span(work: Send | Recv | Copy | Update) -> str:
    """Return the range of a transfer as text."""
    return f"[{work.lo}, {work.hi})"


def ranks_of(mask: int) -> list[int]:
    """Return the ranks in a bit mask."""
    return [rank for rank in range(mask.bit_length()) if mask >> rank & 1]
