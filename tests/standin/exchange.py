"""A program: every point-to-point strategy on a GPU, small and large, whole and sliced; every sum is checked.

`python exchange.py DEVICE` under mpirun. Rank 0 says how many cases were right; a wrong one ends the job with 1.
"""

import sys
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from dpbench.devices import cuda
from dpbench.dtypes import DTYPES
from dpbench.engine.build import Engine, Shape
from dpbench.engine.memory import Buffers, allocate
from dpbench.engine.world import World
from dpbench.measure.payload import Payload, count_wrong, fill
from dpbench.strategies.base import Roles, Scheduled
from dpbench.strategies.registry import strategies

SIZES = {"float32": (0, 4, 1000, 80_000, 4_000_000), "bfloat16": (0, 2, 80_000)}  # bytes
CUTS = ((1, 1, 2**26), (4, 2, 2**20))  # slices, lanes, server buffer: the second cuts messages too
RUNS = 2  # the second begins with what the first left


class Data(NamedTuple):
    """Buffers of one size, and what the input holds."""

    buffers: Buffers
    payload: Payload


def main() -> int:
    """Run all cases and return the exit code."""
    kinds = {kind.name: kind for kind in (cuda.CudaDevice, cuda.StagedCudaDevice)}
    device = kinds[sys.argv[1]](0)
    world = World()
    engine = Engine(world, device)
    right = 0
    for dtype, size in ((dtype, size) for dtype, sizes in SIZES.items() for size in sizes):
        count = size // DTYPES[dtype].itemsize
        data = Data(Buffers(*(allocate(device, count, dtype) for _ in range(2))), Payload(world.size, dtype, seed=1))
        fill(device, data.buffers.input.array, device.from_host(data.payload.table(world.rank)))
        for (name, roles), (slices, lanes, server_buffer) in product(plans(world.size), CUTS):
            shape = Shape(dtype, DTYPES[dtype].itemsize, count, slices, lanes, server_buffer)
            wrong = world.sum(exchange(engine, name, roles, shape, data))
            if wrong:
                print(f"rank {world.rank}: {wrong} elements wrong: {name} {roles} {shape}", flush=True)
                return 1
            right += 1
    if world.rank == 0:
        print(f"{right} right", flush=True)
    return 0


def plans(ranks: int) -> Iterator[tuple[str, Roles]]:
    """Yield every strategy that has a schedule, with the roles it can have."""
    for name, strategy in strategies().items():
        if isinstance(strategy, Scheduled):
            roles = dict.fromkeys(strategy.roles(ranks, dedicated=dedicated) for dedicated in (False, True))
            yield from ((name, each) for each in roles)


def exchange(engine: Engine, name: str, roles: Roles, shape: Shape, data: Data) -> int:
    """Exchange and return how many elements of this rank are wrong, those of its input included."""
    device, rank, buffers = engine.device, engine.rank, data.buffers
    running = engine.build(strategies()[name], roles, shape, buffers)
    wrong = 0
    for _ in range(RUNS):
        device.poison(buffers.output.array)
        running.run()
        everything = [(0, shape.count)]
        expected = device.from_host(data.payload.total(roles.workers))
        wrong += count_wrong(device, buffers.output.array, expected, everything if rank in roles.workers else [])
        wrong += count_wrong(device, buffers.input.array, device.from_host(data.payload.table(rank)), everything)
    running.close()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
