"""Runs dpbench's own CUDA devices on the double of CuPy, all ranks in one process: `campaign.py lazy|eager [SITE]`.

Lazy: an operation waits until its stream is waited for, the latest that CUDA allows. Eager: it runs at once, the
earliest. SITE (module:line:column) names one wait of dpbench that is left out: then this must not end well.
Exit code 0: everything was right.
"""

import ctypes
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "standin" / "fakecupy"), str(HERE.parent / "unit"), str(HERE), str(HERE.parents[1])]

import hostdriver  # noqa: E402
import waits  # noqa: E402

sys.modules["cupy.cuda._driver"] = hostdriver  # type: ignore[assignment]
if len(sys.argv) > 2:
    waits.leave_out(sys.argv[2])

import cupy  # noqa: E402
import numpy as np  # noqa: E402
from fakenetwork import FakeWire, Network  # noqa: E402

from dpbench.devices.cuda import CudaDevice, StagedCudaDevice  # noqa: E402
from dpbench.engine.compile import Compiler  # noqa: E402
from dpbench.engine.memory import Buffers, Place, Weights, allocate, pair_of  # noqa: E402
from dpbench.engine.mpi import start  # noqa: E402
from dpbench.engine.steps import run_lane  # noqa: E402
from dpbench.engine.survey import Cut  # noqa: E402
from dpbench.measure.payload import Payload, count_wrong, fill  # noqa: E402
from dpbench.schedule.count import written  # noqa: E402
from dpbench.schedule.partition import part  # noqa: E402
from dpbench.strategies.base import Scheduled  # noqa: E402
from dpbench.strategies.registry import strategies  # noqa: E402

RANKS = 4
COUNT = 20_000
REPEATS = 3
RATE = 0.1  #: of training: no type holds it exactly


def main() -> int:
    """Return 0 if every output of every exchange was right."""
    if sys.argv[1] == "eager":
        cupy.cuda.Stream.begin = lambda stream, operation: operation()
    start()  # a library's datatypes are asked for their sizes
    wrong = uploads() + sum(exchanges()) + library() + training() + calibration()
    print(f"{wrong} wrong elements")
    return min(wrong, 1)


def uploads() -> int:
    """Return the wrong elements of what was uploaded, as MPI would find them."""
    values = np.arange(COUNT, dtype=np.float32)
    device = CudaDevice(0)
    array = device.from_host(values)
    found = (ctypes.c_float * COUNT).from_address(device.address(array))
    return int(np.count_nonzero(np.array(found) != values))


def exchanges() -> Iterator[int]:
    """Yield the wrong elements of every strategy, dtype, device and way of slicing."""
    scheduled = [name for name, one in strategies().items() if isinstance(one, Scheduled)]
    devices = (CudaDevice, StagedCudaDevice)
    for name, device, slicing, dedicated in product(scheduled, devices, ((1, 1), (5, 2)), (False, True)):
        for dtype in ("float32", "uint8"):
            job = Job(name, device(0), dtype, slicing, dedicated)
            for _ in range(REPEATS):
                yield job.exchange()
    for dtype in ("float16", "float64", "int32", "int64", "bfloat16"):
        yield Job("sharded-ps", CudaDevice(0), dtype, (2, 2)).exchange()


class Job:
    """All ranks of one exchange."""

    def __init__(
        self,
        name: str,
        device: CudaDevice,
        dtype: str,
        slicing: tuple[int, int],
        dedicated: bool = False,
        *,
        trains: bool = False,
    ) -> None:
        slices, lanes = slicing
        strategy = strategies()[name]
        assert isinstance(strategy, Scheduled)
        self.device = device
        self.network = Network(seed=1)
        roles = strategy.roles(RANKS, dedicated=dedicated)
        payload = Payload(RANKS, dtype, seed=1)
        self.payload, self.workers = payload, roles.workers
        self.total = device.from_host(payload.total(roles.workers))
        self.weights = payload.weights()
        itemsize = payload.dtype.itemsize
        # Room for two staged messages: a server's slots are received into again and again.
        cut = Cut(itemsize, lanes, lanes * 2 * (COUNT // slices + 64) * itemsize)
        self.ranks = []
        for rank in range(RANKS):
            buffers = Buffers(*pair_of(device, COUNT, dtype))
            fill(device, buffers.input.array, device.from_host(payload.table(rank)))
            if trains:
                buffers = buffers._replace(weights=Weights(*allocate(device, COUNT, dtype), RATE))
                fill(device, buffers.weights.array, device.from_host(self.weights))  # type: ignore[union-attr]
            wire = FakeWire(rank, self.network)
            describe = strategy.step if trains else strategy.rounds
            rounds = [list(describe(rank, roles, *part(0, COUNT, slices, j))) for j in range(slices)]
            compiled = Compiler(wire, device, buffers, dtype, cut).lanes(rounds.__getitem__, slices)  # type: ignore[arg-type]
            holds = written((each for one in rounds for each in one), "weights" if trains else "output")
            result = buffers.weights or buffers.output
            self.ranks.append((result.array, partial(self.start, compiled, wire), holds))

    @staticmethod
    def start(lanes: list[Any], wire: Any) -> list[Iterator[None]]:
        """Return the running lanes of a rank."""
        return [run_lane(lane, wire) for lane in lanes]

    def exchange(self) -> int:
        """Exchange once and return the number of wrong elements."""
        for output, _, _ in self.ranks:
            self.device.poison(output)
        return self.run(self.total)

    def step(self) -> int:
        """Make a training step and return the number of wrong weights."""
        self.weights = self.weights - self.payload.total(self.workers) * np.float32(RATE)
        return self.run(self.device.from_host(self.weights))

    def run(self, right: Any) -> int:
        """Run the lanes of all ranks and return how many elements differ from what the table `right` describes."""
        self.network.run([lane for _, start, _ in self.ranks for lane in start()])
        return sum(count_wrong(self.device, result, right, holds) for result, _, holds in self.ranks)


class TwoAlike:
    """A communicator of two ranks with the same gradient."""

    def Allreduce(self, _: object, spec: list[Any], __: object) -> None:
        memory, count, _type = spec
        values = np.frombuffer(memory, np.float32, count)
        values += values


def library() -> int:
    """Return the wrong elements of a library call, in place and restored before each run, as two ranks would."""
    from dpbench.engine.build import at_once
    from dpbench.engine.calls import Calls

    wrong = 0
    for device in (CudaDevice(0), StagedCudaDevice(0)):
        source = device.from_host(np.arange(COUNT, dtype=np.float32))
        expected = device.from_host(2 * np.arange(COUNT, dtype=np.float32))
        output = Place(array := device.empty(COUNT, "float32"), device.mirror(array))
        run = Calls(TwoAlike(), device, trusted=True).allreduce(None, output, "float32")
        restore = at_once(device, source, output.array)
        for _ in range(REPEATS):
            device.poison(output.array)
            restore()
            run()
            wrong += device.count_different(output.array, expected)
    return wrong


def training() -> int:
    """Return the wrong weights of training steps: of every strategy, and of a library's call as two ranks would."""
    from dpbench.engine.build import Engine, Shape, at_once
    from dpbench.engine.calls import Calls

    start = np.arange(COUNT, dtype=np.float32)
    wrong = 0
    for device in (CudaDevice(0), StagedCudaDevice(0)):
        for name, dedicated in product(("ps", "sharded-ps", "ring"), (False, True)):
            job = Job(name, device, "float32", (5, 2), dedicated, trains=True)
            wrong += sum(job.step() for _ in range(REPEATS))
        engine = Engine.__new__(Engine)
        engine.device, engine.calls = device, Calls(TwoAlike(), device, trusted=True)
        gradient = device.from_host(start)
        output, weights = pair_of(device, COUNT, "float32")
        buffers = Buffers(Place(gradient, gradient), output, Weights(*weights, RATE))
        restore, begin = at_once(device, gradient, output.array), at_once(device, gradient, weights.array)
        exchange = engine.library(strategies()["mpi"], Shape("float32", 4, COUNT, 1, 1, 0), buffers, None)  # type: ignore[arg-type]
        begin()
        alone = start
        for _ in range(REPEATS):
            restore()
            exchange.run()
            alone = alone - 2 * start * np.float32(RATE)
            wrong += device.count_different(weights.array, device.from_host(alone))
    return wrong


def calibration() -> int:
    """Return the wrong elements of what was added while the rate of additions was taken: all must be timed."""
    from dpbench.measure.calibrate import ADDITIONS, Calibration

    device = CudaDevice(0)
    place = np.arange(COUNT, dtype=np.float32)
    buffers = Buffers(*(Place(array, array) for array in (device.from_host(place), device.from_host(place))))
    calibration = Calibration.__new__(Calibration)
    calibration.world = SimpleNamespace(gather=lambda value: [value])  # type: ignore[assignment]
    calibration.engine = SimpleNamespace(device=device)  # type: ignore[assignment]
    calibration.buffers, calibration.count, calibration.itemsize = buffers, COUNT, 4
    calibration.addition()
    found = (ctypes.c_float * COUNT).from_address(device.address(buffers.output.array))
    return int(np.count_nonzero(np.array(found) != place * (ADDITIONS + 1)))


if __name__ == "__main__":
    sys.exit(main())
