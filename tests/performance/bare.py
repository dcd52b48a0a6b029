"""Does the row `mpi` tell what a plain loop of mpi4py tells? Both in one launch, block by block in turn.

    bare.py [launches]     2 ranks, with the MPI library of this Python; prints a table for each cadence

The plain loop is what anybody would write: a barrier, two readings of the clock, and `Allreduce` between them. It tells
mpi4py once where the arrays lie, as dpbench does: to hand it the arrays themselves costs 0.5 to 0.8 us in each call.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

SIZES = (*(8 * 4**power for power in range(12)), 64 * 2**20)
TURNS, FEW_TURNS = 40, 16  #: blocks of each kind, of exchanges that fill a block alone
BLOCK_S = 0.02  #: that a block should last, of at least 1 exchange and at most 100
CLOSE, CLOSE_S = 0.03, 0.3e-6  #: what the two may differ by: either will do


def plain(comm: Any, gradient: Any, output: Any, number: int, stream: int) -> list[int]:
    """Return this rank's times in nanoseconds: of calls in place, or of each a mean of calls out of place."""
    from mpi4py import MPI

    sent, summed = ([MPI.memory.frombuffer(array), len(array), MPI.FLOAT] for array in (gradient, output))
    times = []
    for _ in range(number):
        output[:] = gradient
        comm.Barrier()
        if stream == 1:
            begin = perf_counter_ns()
            comm.Allreduce(MPI.IN_PLACE, summed)
            end = perf_counter_ns()
        else:
            begin = perf_counter_ns()
            for _ in range(stream):
                comm.Allreduce(sent, summed)
            end = perf_counter_ns()
        times.append((end - begin) // stream)
    return times


def rank() -> None:
    """Measure on one rank; rank 0 prints size, cadence and the two medians as JSON."""
    from functools import partial

    from dpbench.devices.cpu import NumpyDevice
    from dpbench.engine.build import Engine, Shape
    from dpbench.engine.memory import Buffers, pair_of
    from dpbench.engine.world import World
    from dpbench.measure.streaming import back_to_back, stream_of
    from dpbench.measure.timing import no_garbage_collection, timed
    from dpbench.strategies.registry import strategies

    world, device = World(), NumpyDevice()
    engine, roles = Engine(world, device), strategies()["mpi"].roles(world.size)
    for size in SIZES:
        buffers = Buffers(*pair_of(device, size // 4, "float32"))
        gradient, output = buffers.input.array, buffers.output.array
        gradient[:] = 1
        for name in ("mpi", "mpi-out"):
            exchange = engine.build(strategies()[name], roles, Shape("float32", 4, size // 4, 1, 1, 2**20), buffers)
            seconds = min(world.maxima(timed(exchange, world.barrier, 5))) / 1e9
            stream = 1 if name == "mpi" else stream_of(seconds, max_time=1.0)
            exchange.run = partial(back_to_back, exchange.run, stream) if stream > 1 else exchange.run
            number = max(1, min(100, int(BLOCK_S / seconds / stream)))
            turns = TURNS if number > 1 else FEW_TURNS
            ours: list[int] = []
            theirs: list[int] = []
            with no_garbage_collection():
                for turn in range(turns):
                    for kind in ("ours", "theirs") if turn % 2 else ("theirs", "ours"):
                        if kind == "ours":
                            times = [time // stream for time in timed(exchange, world.barrier, number)]
                            ours += world.maxima(times)
                        else:
                            theirs += world.maxima(plain(world.exchange_comm, gradient, output, number, stream))
            if world.rank == 0:
                print(json.dumps([size, name, median(ours) / 1e9, median(theirs) / 1e9]), flush=True)


def main() -> int:
    """Measure in some launches and print the medians over them."""
    from launcher import launcher

    from dpbench.units import format_size, format_time

    command, environ = launcher()
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        job = [*command, "-n", "2", sys.executable, __file__, "rank"]
        for line in subprocess.run(job, env=environ, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
            size, name, ours, theirs = json.loads(line)
            found.setdefault((size, name), []).append((ours, theirs))
    missed = 0
    print(f"{'size':>8}  {'row':<8}{'dpbench':>10}{'plain':>10}   difference")
    for (size, name), pairs in sorted(found.items(), key=lambda item: (item[0][1], item[0][0])):
        ours, theirs = (median(each) for each in zip(*pairs, strict=True))
        apart = median(our - their for our, their in pairs)
        far = abs(apart) > max(CLOSE * theirs, CLOSE_S)
        missed += far
        print(f"{format_size(size):>8}  {name:<8}{format_time(ours):>10}{format_time(theirs):>10}   "
              f"{apart * 1e6:+.2f} us, {apart / theirs:+.1%}{'  FAR APART' if far else ''}")  # fmt: skip
    return bool(missed)


if __name__ == "__main__":
    sys.exit(rank() if sys.argv[1:] == ["rank"] else main())
