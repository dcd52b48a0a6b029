"""What an exchange of nothing takes through the engine, back to back: prints nanoseconds per call."""

from time import perf_counter_ns

from dpbench.devices.cpu import NumpyDevice
from dpbench.engine.build import Engine
from dpbench.engine.world import World
from dpbench.measure.timing import no_garbage_collection

CALLS = 20_000
REPEATS = 21

world = World()
run = Engine(world, NumpyDevice()).nothing().run
times = []
with no_garbage_collection():
    for _ in range(REPEATS):
        start = perf_counter_ns()
        for _ in range(CALLS):
            run()
        times.append((perf_counter_ns() - start) / CALLS)
slowest = max(world.gather(sorted(times)[REPEATS // 2]))
if world.rank == 0:
    print(slowest)
