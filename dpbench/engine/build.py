"""From a strategy and its buffers to something that runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpbench.devices.base import Call, Device
from dpbench.engine.calls import Calls
from dpbench.engine.compile import Compiler, SliceRounds
from dpbench.engine.exchange import Exchange, LibraryExchange, ScheduleExchange
from dpbench.engine.memory import Buffers
from dpbench.engine.recording import Recorder
from dpbench.engine.standing import Labels
from dpbench.engine.steps import Lane, in_turn
from dpbench.engine.survey import Cut
from dpbench.engine.wire import Wire
from dpbench.engine.world import World
from dpbench.errors import Unsuitable
from dpbench.hooks import hooks
from dpbench.schedule.partition import part
from dpbench.schedule.round import UPDATE, Round
from dpbench.strategies.base import Library, Roles, Scheduled, Strategy

LIBRARY_PHASES = ("all-reduce", UPDATE)


@dataclass(frozen=True)
class Shape:
    """How the gradient is laid out and cut."""

    dtype: str
    itemsize: int
    count: int
    slices: int
    window: int
    server_buffer: int


class Engine:
    """Builds exchanges for one rank, on communicators of their own."""

    def __init__(
        self,
        world: World,
        device: Device,
        trusts_collectives: bool = True,
        *,
        records: bool = False,
        trains: bool = False,
    ) -> None:
        self.rank, self.numbers = world.rank, world.numbers
        self.device = device
        self.records = records  #: whether exchanges tell when their phases begin and end
        self.trains = trains  #: whether the sum updates weights: exchanges are training steps
        self.idle = world.idle
        self.wire = Wire(world.exchange_comm)
        if any(hook.kind == "drop" for hook in hooks()):
            from dpbench.engine.lossy import LossyWire

            self.wire = LossyWire(world.exchange_comm)
        self.calls = Calls(world.exchange_comm, device, trusts_collectives)

    def build(self, strategy: Strategy, roles: Roles, shape: Shape, buffers: Buffers) -> Exchange:
        """Return the exchange of this rank, compiled. Raises Unsuitable where it cannot be had."""
        # A library call in place needs it; the others get it too, so that all find the same data in cache.
        restore = at_once(self.device, buffers.input.array, buffers.output.array)
        tells = self.records and (self.trains or isinstance(strategy, Scheduled))  # a call alone has no phases
        recorder = Recorder(times_additions=self.device.queue().ready is None) if tells else None
        if isinstance(strategy, Library):
            exchange = self.library(strategy, shape, buffers, recorder)
        else:
            assert isinstance(strategy, Scheduled)
            exchange = self.compiled(partial(self.rounds, strategy, roles, shape), shape, buffers, recorder)
        exchange.recorder = recorder
        exchange.restore = partial(in_turn, restore, recorder.begin) if recorder else restore
        return exchange

    def library(
        self, strategy: Library, shape: Shape, buffers: Buffers, recorder: Recorder | None
    ) -> Exchange:
        """Return the exchange that is a library's call, in a training step with the update after it."""
        call = strategy.prepare(self.calls, buffers.input, buffers.output, shape.dtype)
        if buffers.weights is None:
            return LibraryExchange(call)
        queue = self.device.queue()
        update = queue.updater(buffers.weights.array, buffers.output.array, buffers.weights.rate)
        calls: tuple[Call, Call] = (call, partial(in_turn, update, queue.wait))
        phases = dict(zip(LIBRARY_PHASES, calls, strict=True))
        return LibraryExchange(recorder.calls(phases) if recorder else partial(in_turn, *calls))

    def compiled(
        self, slice_rounds: SliceRounds, shape: Shape, buffers: Buffers, recorder: Recorder | None = None
    ) -> Exchange:
        """Return the exchange of any rounds, given slice by slice; with a recorder it tells of its phases."""
        cut = Cut(shape.itemsize, shape.window, shape.server_buffer)
        compiler = Compiler(self.wire, self.device, buffers, shape.dtype, cut, recorder=recorder)
        try:
            lanes = compiler.lanes(slice_rounds, shape.slices)
        except Unsuitable:
            self.wire.free(compiler.requests)
            raise
        labels = Labels(slice_rounds, shape.slices, shape.window, recorder, self.numbers)
        return ScheduleExchange(lanes, self.wire, self.idle, compiler.requests, ends=compiler.ends, labels=labels)

    def rounds(self, strategy: Scheduled, roles: Roles, shape: Shape, index: int) -> Iterator[Round]:
        """Return this rank's rounds for slice `index`."""
        describe = strategy.describe(self.trains)
        return describe(self.rank, roles, *part(0, shape.count, shape.slices, index))

    def nothing(self) -> Exchange:
        """Return an exchange of nothing: what the harness itself takes."""
        return ScheduleExchange([Lane([])], self.wire, self.idle)


def at_once(device: Device, source: Any, out: Any) -> Call:
    """Return a call that sets `out = source` and returns when that is complete."""
    queue = device.queue()
    copy = queue.copier(source, out)
    return copy if queue.ready is None else partial(in_turn, copy, queue.wait)
