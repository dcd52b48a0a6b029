"""The memory of one lane: where its messages lie, and the calls that copy and add there."""

from functools import partial
from typing import Any, NamedTuple

from dpbench.devices.base import Call, Device
from dpbench.engine.steps import in_turn
from dpbench.schedule.round import Op

Range = tuple[int, int]


class Buffers(NamedTuple):
    """The arrays that a schedule names."""

    input: Any
    output: Any


class Memory:
    """Input, output and staging, each with what MPI sends from and receives into: itself, or its mirror.

    Mirrors of input and output are as long as these and may be shared by lanes, whose ranges never overlap.
    """

    def __init__(self, device: Device, buffers: Buffers, mirrors: Buffers, staging: Any, itemsize: int) -> None:
        self.itemsize = itemsize
        self.queue = device.queue()
        self.arrays = {**buffers._asdict(), "staging": staging}
        self.mirrors = {**mirrors._asdict(), "staging": device.mirror(staging)}
        self.addresses = {name: device.address(mirror) for name, mirror in self.mirrors.items()}

    def extent(self, buffer: str, where: Range) -> tuple[int, int]:
        """Return the address and the bytes of elements `where` of `buffer`, as MPI takes them."""
        return self.addresses[buffer] + where[0] * self.itemsize, (where[1] - where[0]) * self.itemsize

    def lower(self, buffer: str, where: Range) -> Call | None:
        """Return the call that readies elements `where` to be sent, if one is needed."""
        return self._between(self.arrays[buffer], self.mirrors[buffer], where)

    def raised(self, buffer: str, where: Range, then: Call | None) -> Call | None:
        """Return the call that takes in what was received as elements `where`, and `then`."""
        copy = self._between(self.mirrors[buffer], self.arrays[buffer], where)
        if copy is None or then is None:
            return copy or then
        return partial(in_turn, copy, then)

    def combine(self, op: Op, buffer: str, source: Range, where: Range) -> Call:
        """Return the call that combines elements `source` of `buffer` with elements `where` of the output."""
        value, output = self.arrays[buffer][slice(*source)], self.arrays["output"][slice(*where)]
        if op == "replace":
            return self.queue.copier(value, output)
        other = output if op == "add" else self.arrays["input"][slice(*where)]
        return self.queue.adder(other, value, output)

    def _between(self, source: Any, out: Any, where: Range) -> Call | None:
        """Return the call that copies elements `where` of `source` to `out`, unless they are the same memory."""
        return None if source is out else self.queue.copier(source[slice(*where)], out[slice(*where)])
