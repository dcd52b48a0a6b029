"""Compiling a rank's schedule into lanes of steps: messages cut, requests built, additions bound."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from dpbench.devices.base import Call, Device
from dpbench.engine.memory import Buffers, Memory, Range, allocate
from dpbench.engine.recording import Recorder
from dpbench.engine.steps import End, Lane, Pool, Step, Transfer, restart
from dpbench.engine.survey import IN_FLIGHT, Cut, operations, stages, survey
from dpbench.errors import Unsuitable
from dpbench.schedule.round import Op, Recv, Round, Send

if TYPE_CHECKING:  # any wire will do: compiling needs no MPI
    from dpbench.engine.wire import Wire

TAGS = 2**15  # MPI guarantees tags up to 32767
SMALL_FAN_IN = 64 * 1024  # bytes; below, one test for all receives is cheaper than dealing with each on arrival

SliceRounds = Callable[[int], Iterable[Round]]
"""The rounds of slice j, in order."""


class Message(NamedTuple):
    """What goes to or comes from one peer at once: all of a send or receive, or a piece of it."""

    peer: int
    piece: int
    range: Range
    buffer: str


class Compiler:
    """Builds the lanes of one exchange: one (strategy, size, slices) of one rank."""

    def __init__(
        self,
        wire: "Wire",
        device: Device,
        buffers: Buffers,
        dtype: str,
        cut: Cut,
        *,
        recorder: Recorder | None = None,
    ) -> None:
        self.wire = wire
        self.device = device
        self.buffers = buffers
        self.dtype = dtype
        self.cut = cut
        self.recorder = recorder
        self.requests: list[Any] = []  #: every persistent request, to be freed
        self.ends: list[End] = []  #: of each of them

    def lanes(self, slice_rounds: SliceRounds, slices: int) -> list[Lane]:
        """Return the lanes; slice j runs in lane j mod W, in order of j."""
        found = survey(chain.from_iterable(map(slice_rounds, range(slices))), self.cut)
        self.keep = self.wire.fits(found.messages)
        self.stride = found.stride
        self.slots = self.cut.slots(found.stride, found.most)
        return [
            self.lane(lane, chain.from_iterable(map(slice_rounds, range(lane, slices, self.cut.lanes))))
            for lane in range(self.cut.lanes)
        ]

    def lane(self, lane: int, rounds: Iterable[Round]) -> Lane:
        """Return one lane, with a tag, a queue and staging memory of its own."""
        self.tag = lane
        staging = allocate(self.device, self.slots * self.stride, self.dtype)
        recorder = self.recorder
        self.memory = Memory(
            self.device, self.buffers, staging, self.cut.itemsize, recorder.watched if recorder else None
        )
        steps = recorder.steps(rounds, self.step) if recorder else filter(None, map(self.step, rounds))
        return Lane(list(steps), self.memory.queue.ready, self.memory)

    def step(self, each: Round) -> Step | None:
        """Return the step of a round, if it has anything to do."""
        if not (each.sends or each.recvs or each.local):
            return None
        self.specs: dict[tuple[int, int], list[Any]] = {}  # a fan-out sends the same bytes to many
        sends = [self.transfer("send", message, message.range) for message in self.messages(each.sends)]
        sources = dict.fromkeys((send.buffer, (send.lo, send.hi)) for send in each.sends)
        before = [call for source in sources if (call := self.memory.lower(*source))]
        direct, fan_in, fan_in_bytes = self.receives(each)
        local = [self.memory.local(work) for work in each.local]

        chains = [*chained(fan_in, self.slots), *chained(direct, IN_FLIGHT), *chained(sends, IN_FLIGHT)]
        if max(map(len, chains), default=1) > 1 or (len(fan_in) > 1 and fan_in_bytes > SMALL_FAN_IN):
            return Step(before, [], [], chains, local)
        together = [*fan_in, *direct, *sends]
        after = [transfer.done for transfer in together if transfer.done] + local
        if self.keep:
            return Step(before, [transfer.request for transfer in together], [], [], after)
        return Step(before, [], [transfer.start for transfer in together], [], after)

    def receives(self, each: Round) -> tuple[list[Transfer], list[Transfer], int]:
        """Return a round's receives into the output itself, those into staging memory, and the latter's bytes."""
        ops = operations(each.recvs, self.cut)
        combiners = {where: self.combiner(where, names) for where, names in ops.items() if stages(names)}
        direct: list[Transfer] = []
        fan_in: list[Transfer] = []
        nbytes = 0
        for message in self.messages(each.recvs):
            where = message.range
            if where in combiners:
                slot = len(fan_in) % self.slots
                staged = message._replace(buffer="staging")
                fan_in.append(self.transfer("recv", staged, self.slot(slot, where), combiners[where](slot)))
                nbytes += (where[1] - where[0]) * self.cut.itemsize
            else:
                then = self.memory.combine("first", "output", where, where) if ops[where] == ["first"] else None
                direct.append(self.transfer("recv", message, where, self.memory.raised(message.buffer, where, then)))
        return direct, fan_in, nbytes

    def messages(self, transfers: Sequence[Send | Recv]) -> list[Message]:
        """Return the messages of transfers; the first pieces of all come first, so that peers take turns."""
        cut = [
            Message(transfer.peer, piece, where, transfer.buffer)
            for transfer in transfers
            for piece, where in enumerate(self.cut.pieces(transfer.lo, transfer.hi))
        ]
        return sorted(cut, key=attrgetter("piece"))

    def transfer(self, kind: str, message: Message, place: Range, done: Call | None = None) -> Transfer:
        """Return the transfer of a message that lies at elements `place` of its buffer."""
        tag = self.tag + message.piece * self.cut.lanes
        if tag >= TAGS:
            raise Unsuitable(f"messages are cut into more than {TAGS // self.cut.lanes} pieces; raise --server-buffer")
        extent = self.memory.extent(message.buffer, place)
        spec = self.specs.get(extent) or self.specs.setdefault(extent, self.wire.spec(*extent))
        if not self.keep:
            return Transfer(self.wire.transient(kind, spec, message.peer, tag), done)
        request = self.wire.persistent(kind, spec, message.peer, tag)
        self.requests.append(request)
        self.ends.append((kind, message.peer))
        return Transfer(partial(restart, request), done, request)

    def slot(self, slot: int, where: Range) -> Range:
        """Return the elements of the staging memory that hold what arrives for `where` in `slot`."""
        return slot * self.stride, slot * self.stride + where[1] - where[0]

    def combiner(self, where: Range, ops: list[Op]) -> Callable[[int], Call]:
        """Return a function from a staging slot to the call that combines what lies there with the output."""
        rows = {op: [self.staged(op, slot, where) for slot in range(self.slots)] for op in set(ops)}
        if len(ops) == 1:
            return rows[ops[0]].__getitem__
        pool = Pool([rows[op] for op in ops])
        return lambda slot: partial(pool.arrive, slot)

    def staged(self, op: Op, slot: int, where: Range) -> Call:
        """Return the call that combines what lies in `slot` with elements `where` of the output."""
        place = self.slot(slot, where)
        combining = self.memory.combine(op, "staging", place, where)
        return self.memory.raised("staging", place, combining) or combining


def chained(transfers: list[Transfer], width: int) -> Iterator[list[Transfer]]:
    """Deal transfers to at most `width` chains, in turn."""
    return (transfers[index::width] for index in range(min(width, len(transfers))))
