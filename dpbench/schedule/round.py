"""The vocabulary of a schedule: a rank's rounds of sends, receives and local work.

A range `[lo, hi)` counts elements of the whole gradient. Exchanges are out of place: `input` (the rank's own
gradient) is only read, `output` receives the sum. In a training step the sum then changes the `weights`.

A round begins when the one before it is complete. All of its transfers are under way together; its local
work follows them. An empty range is no transfer: `round_of` leaves it out, at both ends. Receives of one
round into the same range are served as they arrive: the n-th arrival gets the n-th listed operation, whoever
it came from, so `first, add, add` never waits for a particular peer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Buffer = Literal["input", "output", "weights"]
Target = Literal["output", "weights"]
Op = Literal["replace", "add", "first"]
"""What a receive makes of its target. replace: received; add: output + received; first: input + received."""


class Send(NamedTuple):
    """Elements `[lo, hi)` of `buffer` go to rank `peer`."""

    peer: int
    buffer: Buffer
    lo: int
    hi: int


class Recv(NamedTuple):
    """Elements `[lo, hi)` of the output come from rank `peer` and are combined by `op`; weights are replaced."""

    peer: int
    lo: int
    hi: int
    op: Op
    buffer: Target = "output"


class Copy(NamedTuple):
    """Local work: output[lo:hi] = input[lo:hi]."""

    lo: int
    hi: int


class Update(NamedTuple):
    """Local work: weights[lo:hi] -= rate * output[lo:hi], a step of gradient descent; the output is spent."""

    lo: int
    hi: int


UPDATE = "update"  #: the phase of updates, in which nothing travels


@dataclass(frozen=True, slots=True)
class Round:
    """One round of one rank: transfers that are under way together, then local work."""

    phase: str
    sends: tuple[Send, ...] = ()
    recvs: tuple[Recv, ...] = ()
    local: tuple[Copy | Update, ...] = ()


def round_of(
    phase: str, sends: Iterable[Send] = (), recvs: Iterable[Recv] = (), local: Iterable[Copy | Update] = ()
) -> Round:
    """Return a round from any iterables, so that a strategy can write comprehensions; drop empty ranges."""
    return Round(
        phase,
        tuple([send for send in sends if send.lo < send.hi]),
        tuple([recv for recv in recvs if recv.lo < recv.hi]),
        tuple([work for work in local if work.lo < work.hi]),
    )
