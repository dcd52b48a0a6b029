"""Compiling a rank's schedule into lanes of steps: messages cut, requests built, additions bound."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from dpbench.devices.base import Device
from dpbench.engine.steps import Call, Pool, Step, Transfer, restart
from dpbench.engine.survey import IN_FLIGHT, Cut, Range, operations, stages, survey
from dpbench.errors import Unsuitable
from dpbench.schedule.round import Op, Recv, Round, Send

if TYPE_CHECKING:  # any wire will do: compiling needs no MPI
    from dpbench.engine.wire import Wire

TAGS = 2**15  # MPI guarantees tags up to 32767
SMALL_FAN_IN = 64 * 1024  # bytes; below, one test for all receives is cheaper than dealing with each on arrival

SliceRounds = Callable[[int], Iterable[Round]]
"""The rounds of slice j, in order."""


class Buffers(NamedTuple):
    """The arrays that a schedule names."""

    input: Any
    output: Any


class Message(NamedTuple):
    """What goes to or comes from one peer at once: all of a send or receive, or a piece of it."""

    peer: int
    piece: int
    range: Range
    buffer: str


class Compiler:
    """Builds the lanes of one exchange: one (strategy, size, slices) of one rank."""

    def __init__(self, wire: "Wire", device: Device, buffers: Buffers, dtype: str, cut: Cut) -> None:
        self.wire = wire
        self.device = device
        self.arrays: dict[str, Any] = buffers._asdict()
        self.dtype = dtype
        self.cut = cut
        self.requests: list[Any] = []  #: every persistent request, to be freed

    def lanes(self, slice_rounds: SliceRounds, slices: int) -> list[list[Step]]:
        """Return the steps of each lane; slice j runs in lane j mod W, in order of j."""
        found = survey(chain.from_iterable(map(slice_rounds, range(slices))), self.cut)
        self.keep = self.wire.fits(found.messages)
        self.stride = found.stride
        self.slots = self.cut.slots(found.stride, found.most)
        return [
            self.lane(lane, chain.from_iterable(map(slice_rounds, range(lane, slices, self.cut.lanes))))
            for lane in range(self.cut.lanes)
        ]

    def lane(self, lane: int, rounds: Iterable[Round]) -> list[Step]:
        """Return the steps of one lane, with staging memory and a tag of its own."""
        self.tag = lane
        self.arrays["staging"] = self.device.empty(self.slots * self.stride, self.dtype)
        self.addresses = {name: self.device.address(array) for name, array in self.arrays.items()}
        return [self.step(each) for each in rounds if each.sends or each.recvs or each.local]

    def step(self, each: Round) -> Step:
        """Return the step of a round."""
        self.specs: dict[Range, list[Any]] = {}  # a fan-out sends the same bytes to many
        ops = operations(each.recvs, self.cut)
        combiners = {where: self.combiner(where, names) for where, names in ops.items() if stages(names)}
        arriving = self.messages(each.recvs)
        sends = [self.transfer("send", message, message.range) for message in self.messages(each.sends)]
        direct = [
            self.transfer("recv", m, m.range, self.landed(ops[m.range], m.range))
            for m in arriving
            if m.range not in combiners
        ]
        fan_in = []
        for index, message in enumerate(m for m in arriving if m.range in combiners):
            slot = index % self.slots
            place = self.slot(slot, message.range)
            fan_in.append(
                self.transfer("recv", message._replace(buffer="staging"), place, combiners[message.range](slot))
            )
        local = [self.binary("replace", "input", to, to) for to in each.local]

        chains = [*chained(fan_in, self.slots), *chained(direct, IN_FLIGHT), *chained(sends, IN_FLIGHT)]
        staged_bytes = sum(m.range[1] - m.range[0] for m in arriving if m.range in combiners) * self.cut.itemsize
        if max(map(len, chains), default=1) > 1 or (len(fan_in) > 1 and staged_bytes > SMALL_FAN_IN):
            return Step([], [], chains, local)
        return self.burst([*fan_in, *direct, *sends], local)

    def burst(self, transfers: list[Transfer], local: list[Call]) -> Step:
        """Return a step whose messages all start together; what they bring is dealt with when all are complete."""
        after = [transfer.done for transfer in transfers if transfer.done] + local
        if self.keep:
            return Step([transfer.request for transfer in transfers], [], [], after)
        return Step([], [transfer.start for transfer in transfers], [], after)

    def messages(self, transfers: Sequence[Send | Recv]) -> list[Message]:
        """Return the messages of transfers; the first pieces of all come first, so that peers take turns."""
        cut = [
            Message(transfer.peer, piece, where, getattr(transfer, "buffer", "output"))
            for transfer in transfers
            for piece, where in enumerate(self.cut.pieces(transfer.lo, transfer.hi))
        ]
        return sorted(cut, key=attrgetter("piece"))

    def transfer(self, kind: str, message: Message, place: Range, done: Call | None = None) -> Transfer:
        """Return the transfer of a message that lies at elements `place` of its buffer."""
        tag = self.tag + message.piece * self.cut.lanes
        if tag >= TAGS:
            raise Unsuitable(f"messages are cut into more than {TAGS // self.cut.lanes} pieces; raise --server-buffer")
        lo, hi = place
        address = self.addresses[message.buffer] + lo * self.cut.itemsize
        nbytes = (hi - lo) * self.cut.itemsize
        spec = self.specs.setdefault((address, nbytes), [])
        if not spec:
            spec.extend(self.wire.spec(address, nbytes))
        if not self.keep:
            return Transfer(self.wire.transient(kind, spec, message.peer, tag), done)
        request = self.wire.persistent(kind, spec, message.peer, tag)
        self.requests.append(request)
        return Transfer(partial(restart, request), done, request)

    def slot(self, slot: int, where: Range) -> Range:
        """Return the elements of the staging memory that hold what arrives for `where` in `slot`."""
        return slot * self.stride, slot * self.stride + where[1] - where[0]

    def combiner(self, where: Range, ops: list[Op]) -> Callable[[int], Call]:
        """Return a function from a staging slot to the call that combines what lies there with the output."""
        rows = {
            op: [self.binary(op, "staging", self.slot(slot, where), where) for slot in range(self.slots)]
            for op in set(ops)
        }
        if len(ops) == 1:
            return rows[ops[0]].__getitem__
        pool = Pool([rows[op] for op in ops])
        return lambda slot: partial(pool.arrive, slot)

    def landed(self, ops: list[Op], where: Range) -> Call | None:
        """Return what follows a message that was received into the output itself."""
        return None if ops == ["replace"] else self.binary("first", "output", where, where)

    def binary(self, op: Op, buffer: str, source: Range, where: Range) -> Call:
        """Return the call that combines elements `source` of `buffer` with elements `where` of the output."""
        value, output = self.arrays[buffer][slice(*source)], self.arrays["output"][slice(*where)]
        if op == "replace":
            call = self.device.copier(value, output)
        else:
            other = output if op == "add" else self.arrays["input"][slice(*where)]
            call = self.device.adder(other, value, output)
        return partial(in_turn, call, self.device.wait) if self.device.queues else call


def chained(transfers: list[Transfer], width: int) -> Iterator[list[Transfer]]:
    """Deal transfers to at most `width` chains, in turn."""
    return (transfers[index::width] for index in range(min(width, len(transfers))))


def in_turn(first: Call, then: Call) -> None:
    """Call one after the other."""
    first()
    then()
