"""The memory of one lane: where its messages lie, and the calls that copy and add there."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from dpbench.devices.base import Call, Device
from dpbench.engine.steps import in_turn
from dpbench.schedule.round import Copy, Op, Update

Range = tuple[int, int]


class Place(NamedTuple):
    """An array, and what MPI sends from and receives into for it: the array itself, or its mirror."""

    array: Any
    mirror: Any


class Weights(NamedTuple):
    """The place of the weights, and the learning rate of their updates."""

    array: Any
    mirror: Any
    rate: float


class Buffers(NamedTuple):
    """What a schedule names. Lanes share mirrors, for their ranges never overlap."""

    input: Place
    output: Place
    weights: Weights | None = None  #: of a training step


def allocate(device: Device, count: int, dtype: str) -> Place:
    """Return a new array of `count` elements in its place. Raises Unsuitable if there is not so much memory."""
    array = device.empty(count, dtype)
    return Place(array, device.mirror(array))


def pair_of(device: Device, count: int, dtype: str) -> tuple[Place, Place]:
    """Return new places of `count` elements for input and output. Raises Unsuitable if there is not so much memory."""
    return allocate(device, count, dtype), allocate(device, count, dtype)


class Memory:
    """Input, output and the lane's own staging, with a queue of its own."""

    def __init__(
        self,
        device: Device,
        buffers: Buffers,
        staging: Place,
        itemsize: int,
        watched: Callable[[Call], Call] | None = None,
    ) -> None:
        self.itemsize = itemsize
        self.watched = watched  #: what becomes of an addition that is to be timed
        self.queue = device.queue()
        self.weights = buffers.weights
        places = {**buffers._asdict(), "staging": staging}
        self.places: dict[str, Place | Weights] = {name: place for name, place in places.items() if place}
        self.addresses = {name: device.address(place.mirror) for name, place in self.places.items()}

    def extent(self, buffer: str, where: Range) -> tuple[int, int]:
        """Return the address and the bytes of elements `where` of `buffer`, as MPI takes them."""
        return self.addresses[buffer] + where[0] * self.itemsize, (where[1] - where[0]) * self.itemsize

    def lower(self, buffer: str, where: Range) -> Call | None:
        """Return the call that readies elements `where` to be sent, if one is needed."""
        return self._between(self.places[buffer].array, self.places[buffer].mirror, where)

    def raised(self, buffer: str, where: Range, then: Call | None) -> Call | None:
        """Return the call that takes in what was received as elements `where`, and `then`."""
        copy = self._between(self.places[buffer].mirror, self.places[buffer].array, where)
        if copy is None or then is None:
            return copy or then
        return partial(in_turn, copy, then)

    def combine(self, op: Op, buffer: str, source: Range, where: Range) -> Call:
        """Return the call that combines elements `source` of `buffer` with elements `where` of the output."""
        value, output = self.part(buffer, source), self.part("output", where)
        if op == "replace":
            return self.queue.copier(value, output)
        other = output if op == "add" else self.part("input", where)
        add = self.queue.adder(other, value, output)
        return add if self.watched is None else self.watched(add)

    def local(self, work: Copy | Update) -> Call:
        """Return the call that does local work."""
        where = (work.lo, work.hi)
        if isinstance(work, Copy):
            return self.combine("replace", "input", where, where)
        assert self.weights is not None
        return self.queue.updater(self.part("weights", where), self.part("output", where), self.weights.rate)

    def part(self, buffer: str, where: Range) -> Any:
        """Return elements `where` of `buffer`."""
        return self.places[buffer].array[slice(*where)]

    def _between(self, source: Any, out: Any, where: Range) -> Call | None:
        """Return the call that copies elements `where` of `source` to `out`, unless they are the same memory."""
        return None if source is out else self.queue.copier(source[slice(*where)], out[slice(*where)])
