"""GPUs through CuPy: gradients and additions in device memory. The only module that imports CuPy.

mpi4py never synchronises, so nothing may be sent, received into or timed before the stream that touches it is done
(the engine asks `ready`). Streams do not wait for the default stream: what runs there is complete on return.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from dpbench.devices.base import Call
from dpbench.devices.hostdtype import numpy_dtype
from dpbench.errors import Unsuitable


class CudaQueue:
    """A stream of its own."""

    def __init__(self) -> None:
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.ready: Callable[[], bool] | None = self._done
        self.wait = self.stream.synchronize
        self._held: list[Any] = []  # a copy knows addresses only: what lies there must live on

    def _done(self) -> bool:
        return bool(self.stream.done)

    def adder(self, left: Any, right: Any, out: Any) -> Call:
        """Return a call that begins `out = left + right`."""
        return partial(self._add, left, right, out)

    def _add(self, left: Any, right: Any, out: Any) -> None:
        with self.stream:
            cupy.add(left, right, out)

    def updater(self, weights: Any, gradient: Any, rate: float) -> Call:
        """Return a call that begins `weights -= rate * gradient`."""
        return partial(self._update, weights, gradient, weights.dtype.type(rate))

    def _update(self, weights: Any, gradient: Any, rate: Any) -> None:
        with self.stream:  # two kernels: a fused one would round once, and differ from the host
            cupy.multiply(gradient, rate, gradient)
            cupy.subtract(weights, gradient, weights)

    def copier(self, source: Any, out: Any) -> Call:
        """Return a call that begins `out = source`, between device and pinned host memory too."""
        self._held += (source, out)
        kind = runtime.memcpyDefault
        return partial(runtime.memcpyAsync, address(out), address(source), out.nbytes, kind, self.stream.ptr)


class CudaDevice:
    """One GPU, its memory handed to MPI as it is."""

    name = "cuda"
    direct = True

    def __init__(self, ordinal: int) -> None:
        self._device = cupy.cuda.Device(ordinal)
        self._device.use()
        # Plain cudaMalloc: CUDA IPC cannot export memory of the stream-ordered or managed allocators.
        cupy.cuda.set_allocator(cupy.cuda.MemoryPool().malloc)

    def empty(self, count: int, dtype: str) -> Any:
        """Return an array of `count` elements."""
        try:
            return cupy.empty(count, numpy_dtype(dtype))
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise Unsuitable(f"no GPU memory for an array of {count} x {dtype}") from error
        except TypeError as error:
            raise Unsuitable(f"this CuPy ({cupy.__version__}) has no {dtype}") from error

    def mirror(self, array: Any) -> Any:
        """Return the array itself: MPI is given device memory."""
        return array

    def address(self, array: Any) -> int:
        """Return the address of the first element."""
        return address(array)

    def queue(self) -> CudaQueue:
        """Return a queue on a stream of its own."""
        return CudaQueue()

    def from_host(self, values: Any) -> Any:
        """Return a device array with the values of the NumPy array."""
        return self._completed(cupy.asarray(values))

    def poison(self, array: Any) -> None:
        """Set every byte to 0xFF."""
        if array.nbytes:
            self._completed(array.data.memset(0xFF, array.nbytes))

    def take(self, table: Any, rows: Any, width: int) -> Any:
        """Return the rows numbered by `rows`, flat."""
        return self._completed(table.reshape(-1, width).take(cupy.asarray(rows), axis=0).reshape(-1))

    def count_different(self, array: Any, expected: Any) -> int:
        """Return how many elements differ."""
        return int(cupy.count_nonzero(array != expected))

    def _completed(self, value: Any) -> Any:
        cupy.cuda.get_current_stream().synchronize()
        return value


class StagedCudaDevice(CudaDevice):
    """One GPU whose bytes travel through pinned host memory: works with every MPI."""

    name = "cuda-staged"
    direct = False

    def mirror(self, array: Any) -> Any:
        """Return pinned host memory as long as `array`."""
        try:
            pinned = cupy.cuda.alloc_pinned_memory(max(1, array.nbytes))
        except runtime.CUDARuntimeError as error:
            raise Unsuitable(f"no pinned host memory for {array.nbytes} bytes") from error
        return np.frombuffer(pinned, array.dtype, len(array))


def identity_of(ordinal: int) -> str:
    """Return a GPU's PCI bus id, with its UUID where CuPy tells it."""
    uuid = runtime.getDeviceProperties(ordinal).get("uuid")
    place = str(cupy.cuda.Device(ordinal).pci_bus_id)
    return f"{place} (GPU-{uuid[:16].hex()})" if uuid else place


def address(array: Any) -> int:
    """Return the address of a device array or of pinned host memory."""
    if isinstance(array, np.ndarray):
        return int(array.__array_interface__["data"][0])
    return int(array.data.ptr)
