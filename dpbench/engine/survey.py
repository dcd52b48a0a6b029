"""A first look at a rank's schedule: how many messages it will need, and how much staging memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from dpbench.engine.memory import Range
from dpbench.schedule.round import Op, Recv, Round

LARGEST_MESSAGE = 2**30  # bytes; Open MPI 5 rejects counts from 2**31 on
SMALLEST_STAGING = 4096  # bytes a lane's staging has at least, whatever the cap
ALIGNED = 64  # elements of which a staging slot has a multiple: every slot begins on a cache line
IN_FLIGHT = 16  # transfers of one round under way at once, each way: enough to fill a port, cheap to test


@dataclass(frozen=True)
class Cut:
    """How messages are cut: by the receiver's staging, alike on every rank."""

    itemsize: int
    lanes: int
    server_buffer: int  #: bytes of staging that one rank may have in all

    @cached_property
    def elements(self) -> int:
        """The most elements of one message."""
        staging = max(self.server_buffer // self.lanes, SMALLEST_STAGING)
        most = min(LARGEST_MESSAGE, staging) // self.itemsize
        return max(1, most - most % ALIGNED)  # what fills a slot makes it no larger

    def pieces(self, lo: int, hi: int) -> Iterator[tuple[int, int]]:
        """Yield the messages that carry `[lo, hi)`: one, possibly empty, unless it is too large."""
        most = self.elements
        yield lo, min(hi, lo + most)
        for start in range(lo + most, hi, most):
            yield start, min(hi, start + most)

    def slots(self, stride: int, most: int) -> int:
        """Return how many staged receives of `stride` elements a lane may have posted: credits, within the cap."""
        fitting = self.server_buffer // self.lanes // max(1, stride * self.itemsize)
        return max(1, min(IN_FLIGHT, most, fitting))


@dataclass
class Survey:
    """What a rank's schedule needs."""

    messages: int = 0
    largest: int = 0  #: elements of the largest staged message
    most: int = 0  #: staged messages of the fullest round

    @property
    def stride(self) -> int:
        """The elements of a staging slot."""
        return -(-self.largest // ALIGNED) * ALIGNED


def operations(recvs: Iterable[Recv], cut: Cut) -> dict[Range, list[Op]]:
    """Return the operations of a round's receives by the range of each message, in order of arrival."""
    found: dict[Range, list[Op]] = {}
    for recv in recvs:
        for piece in cut.pieces(recv.lo, recv.hi):
            found.setdefault(piece, []).append(recv.op)
    return found


def stages(ops: list[Op]) -> bool:
    """Tell whether receives into one range need staging: not if a single one overwrites it anyway."""
    return ops not in (["replace"], ["first"])


def survey(rounds: Iterable[Round], cut: Cut) -> Survey:
    """Walk through all rounds of all slices of a rank."""
    found = Survey()
    for each in rounds:
        ops = operations(each.recvs, cut)
        found.messages += sum(map(len, ops.values()))
        found.messages += sum(1 for send in each.sends for _ in cut.pieces(send.lo, send.hi))
        fan_in = {where: names for where, names in ops.items() if stages(names)}
        found.most = max(found.most, sum(map(len, fan_in.values())))
        found.largest = max(found.largest, max((hi - lo for lo, hi in fan_in), default=0))
    return found


def staging_of(rounds: Iterable[Round], cut: Cut) -> int:
    """Return the bytes of staging memory that all lanes will have, given the rounds of one of the longest slices."""
    found = survey(rounds, cut)
    return cut.lanes * cut.slots(found.stride, found.most) * found.stride * cut.itemsize
