"""Every exchange asked for, through the engine; each worker's every element is compared with its closed form.

Takes a JSON object (see `Work`) and prints one from rank 0: how many exchanges were checked, what was skipped
because the library cannot do it, and what was wrong, on any rank.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from unittest import mock

import numpy as np

from dpbench.devices.cpu import NumpyDevice
from dpbench.devices.hostdtype import numpy_dtype
from dpbench.engine import survey
from dpbench.engine.build import Engine, Shape
from dpbench.engine.exchange import Exchange
from dpbench.engine.memory import Buffers, Place, Weights, allocate
from dpbench.engine.wire import Wire
from dpbench.engine.world import World
from dpbench.errors import Unsuitable
from dpbench.strategies.base import Library, Roles, Strategy
from dpbench.strategies.registry import strategies

MODES: dict[str, dict[tuple[Any, str], int]] = {
    "plain": {},
    "requests made anew": {(Wire, "PERSISTENT"): 0},
    "few persistent requests": {(Wire, "PERSISTENT"): 20},
    "split messages": {(survey, "LARGEST_MESSAGE"): 10_000},
    "small server buffer": {},
}
SMALL_BUFFER = 32 * 2**10
RATE = 0.1  #: the learning rate: no type holds it exactly

Variant = tuple[Strategy, Roles]


@dataclass
class Work:
    """What to check: every combination."""

    dtypes: list[str]
    counts: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    slicings: list[tuple[int, int]] = field(default_factory=lambda: [(1, 1), (5, 2)])
    modes: list[str] = field(default_factory=lambda: ["plain"])
    steps: int = 0  #: training steps, instead of exchanges


@dataclass
class Found:
    """What came of it."""

    checked: int = 0
    skipped: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def gradient(worker: int, count: int) -> Any:
    """Small integers that differ from place to place, from one chunk to the next and from worker to worker."""
    place = np.arange(count)
    return (7 * place + place // 61 + 13 * worker) % 31


def variants(ranks: int) -> Iterator[Variant]:
    """Yield every strategy in every form that so many ranks can take."""
    for strategy in strategies().values():
        found = []
        for servers, dedicated in [(k, d) for d in (False, True) for k in (None, 1, 2) if (k or 1) <= ranks - d]:
            roles = strategy.roles(ranks, servers, dedicated)
            if roles not in found:
                found.append(roles)
                yield strategy, roles


class Checker:
    """The exchanges of one dtype and count."""

    def __init__(self, engine: Engine, ranks: int, found: Found, dtype: str, *, count: int, steps: int) -> None:
        self.engine, self.found = engine, found
        self.dtype, self.count, self.steps = dtype, count, steps
        self.numpy = numpy_dtype(dtype)
        self.gradients = [gradient(worker, count).astype(self.numpy) for worker in range(ranks)]
        self.totals: dict[range, Any] = {}
        mine = engine.device.from_host(self.gradients[engine.rank])
        weights = Weights(*allocate(engine.device, count, dtype), RATE) if steps else None
        self.buffers = Buffers(Place(mine, mine), allocate(engine.device, count, dtype), weights)

    def check(self, strategy: Strategy, roles: Roles, slicing: tuple[int, int], mode: str) -> None:
        """Exchange twice, or a library call once, and compare."""
        label = f"{strategy.name} {roles} {self.dtype} x {self.count}, slices {slicing}, {mode}"
        server_buffer = SMALL_BUFFER if mode == "small server buffer" else 64 * 2**20
        shape = Shape(self.dtype, self.numpy.itemsize, self.count, *slicing, server_buffer)
        with ExitStack() as held:
            for (place, name), value in MODES[mode].items():
                held.enter_context(mock.patch.object(place, name, value))
            try:
                exchange = self.engine.build(strategy, roles, shape, self.buffers)
            except Unsuitable:
                self.found.skipped.append(f"{strategy.name} {self.dtype}")
                return
            if self.engine.wire.live > Wire.PERSISTENT:
                self.found.wrong.append(f"{label}: {self.engine.wire.live} persistent requests")
            if self.buffers.weights is not None:
                self.train(exchange, roles, self.buffers.weights.array, label)
            for _ in range(0 if self.steps else 1 if isinstance(strategy, Library) else 2):
                self.engine.device.poison(self.buffers.output.array)
                if exchange.restore:
                    exchange.restore()
                exchange.run()
                self.compare(roles, label)
            exchange.close()
        self.found.checked += 1

    def compare(self, roles: Roles, label: str) -> None:
        """Note every difference from the sum, and any change of the input."""
        rank = self.engine.rank
        pairs = [("input", self.buffers.input.array, self.gradients[rank])]
        if rank in roles.workers:
            pairs.append(("output", self.buffers.output.array, self.total(roles.workers)))
        for name, array, right in pairs:
            if not np.array_equal(array, right):
                wrong = np.flatnonzero(~(array == right))
                self.found.wrong.append(f"{label}: rank {rank}: {len(wrong)} of {name}, first {wrong[0]}")

    def train(self, exchange: Exchange, roles: Roles, weights: Any, label: str) -> None:
        """Make the steps; a worker's weights must equal, in each bit, those of one process that makes them alone."""
        alone = weights[:] = gradient(0, self.count).astype(self.numpy)
        rate = self.numpy.type(RATE)
        for _ in range(self.steps):
            if exchange.restore:
                exchange.restore()
            exchange.run()
            alone = alone - self.total(roles.workers) * rate
        if self.engine.rank in roles.workers and weights.tobytes() != alone.tobytes():
            self.found.wrong.append(f"{label}: rank {self.engine.rank}: {np.sum(weights != alone)} weights")

    def total(self, workers: range) -> Any:
        """Return the sum over `workers`: at most 5 * 30, which every dtype holds exactly."""
        if workers not in self.totals:
            self.totals[workers] = sum(self.gradients[worker].astype(np.int64) for worker in workers)
            self.totals[workers] = self.totals[workers].astype(self.numpy)
        return self.totals[workers]


def main() -> None:
    """Check all that is asked for."""
    work = Work(**json.loads(sys.argv[1]))
    world = World()
    engine, found = Engine(world, NumpyDevice(), trains=work.steps > 0), Found()
    for dtype in work.dtypes:
        counts = {*work.counts, *(nbytes // numpy_dtype(dtype).itemsize for nbytes in work.bytes)}
        for count in sorted(counts):
            if world.rank == 0:
                print(f"{dtype} x {count}", file=sys.stderr, flush=True)  # the last line tells where it hangs
            checker = Checker(engine, world.size, found, dtype, count=count, steps=work.steps)
            for strategy, roles in variants(world.size):
                for mode in work.modes:
                    for slicing in work.slicings:
                        if not isinstance(strategy, Library) or (mode, slicing) == (work.modes[0], work.slicings[0]):
                            checker.check(strategy, roles, slicing, mode)
    assert engine.wire.live == 0, "persistent requests were not freed"
    wrong = list(chain.from_iterable(world.gather(found.wrong)))
    if world.rank == 0:
        print(json.dumps({"checked": found.checked, "skipped": sorted(set(found.skipped)), "wrong": wrong[:20]}))


main()
