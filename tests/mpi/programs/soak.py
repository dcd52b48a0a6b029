"""10,000 exchanges: `soak.py`. Rank 0 prints the most memory and requests of any rank, and wrong elements, for each
of 100 rounds. A round is compiled anew, as a run does for each size and strategy, and checked.
"""

import json
import os
from itertools import cycle, product
from pathlib import Path

from dpbench.devices.cpu import NumpyDevice
from dpbench.engine.build import Engine, Shape
from dpbench.engine.memory import Buffers, pair_of
from dpbench.engine.world import World
from dpbench.measure.payload import Payload, count_wrong, fill
from dpbench.strategies.base import Library
from dpbench.strategies.registry import strategies

ROUNDS = 100
EXCHANGES, LIBRARY_EXCHANGES = 132, 4  # of a strategy: a library that does not yield is slow where cores are few
SIZES = (8, 4096, 65536)
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def main() -> None:
    """Exchange, over and over."""
    world, device = World(), NumpyDevice()
    engine, payload = Engine(world, device), Payload(world.size, "float32", seed=1)
    total = device.from_host(payload.total())
    buffers = {}
    for size in SIZES:
        buffers[size] = Buffers(*pair_of(device, size // 4, "float32"))
        fill(device, buffers[size].input.array, device.from_host(payload.table(world.rank)))
    told = []
    for _, (size, strategy) in zip(range(ROUNDS), cycle(product(SIZES, strategies().values())), strict=False):
        mine = buffers[size]
        shape = Shape("float32", 4, size // 4, 2, 2, 2**20)
        exchange = engine.build(strategy, strategy.roles(world.size), shape, mine)
        device.poison(mine.output.array)
        for _ in range(LIBRARY_EXCHANGES if isinstance(strategy, Library) else EXCHANGES):
            if exchange.restore:
                exchange.restore()
            exchange.run()
        wrong = world.sum(count_wrong(device, mine.output.array, total, [(0, size // 4)]))
        exchange.close()
        told.append((world.maxima([resident(), engine.wire.live]), wrong))
    if world.rank == 0:
        print(json.dumps(told))


main()
