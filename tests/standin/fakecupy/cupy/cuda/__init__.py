"""Devices, streams and memory of the double."""

import itertools
import weakref
from collections.abc import Callable

import numpy as np

from cupy.cuda import _driver, memory, runtime
from cupy.cuda.memory import MemoryPointer, MemoryPool

__all__ = ["Device", "MemoryPool", "Stream", "alloc_pinned_memory", "get_current_stream", "memory", "runtime"]

_state = {"allocator": MemoryPool().malloc}
_streams: "weakref.WeakValueDictionary[int, Stream]" = weakref.WeakValueDictionary()
_handles = itertools.count(1)
_entered: "list[Stream]" = []


class Device:
    """A device by its ordinal."""

    def __init__(self, ordinal: int) -> None:
        self.id = ordinal

    def use(self) -> None:
        _driver.use(self.id)

    @property
    def pci_bus_id(self) -> str:
        return runtime.deviceGetPCIBusId(self.id)


class Stream:
    """Operations that wait until somebody waits for them."""

    def __init__(self, non_blocking: bool = False) -> None:
        assert non_blocking, "a stream that waits for the default stream hides what is not synchronised"
        self.ptr = next(_handles)
        _streams[self.ptr] = self
        self._waiting: list[Callable[[], object]] = []

    def begin(self, operation: Callable[[], object]) -> None:
        self._waiting.append(operation)

    @property
    def done(self) -> bool:
        """Whether nothing waits. To ask is to let time pass: what does wait will be done when asked again."""
        was_done = not self._waiting
        self.synchronize()
        return was_done

    def synchronize(self) -> None:
        waiting, self._waiting = self._waiting, []
        for operation in waiting:
            operation()

    def __enter__(self) -> "Stream":
        _entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _entered.pop()


default_stream = Stream(non_blocking=True)


def get_current_stream() -> Stream:
    return _entered[-1] if _entered else default_stream


def stream_of(handle: int) -> Stream:
    """Return the stream behind a handle; it must be alive."""
    if handle not in _streams:
        raise runtime.CUDARuntimeError(400, "stream_of")
    return _streams[handle]


def set_allocator(allocator: Callable[[int], MemoryPointer]) -> None:
    _state["allocator"] = allocator


def allocate(size: int) -> MemoryPointer:
    return _state["allocator"](size)


def alloc_pinned_memory(size: int) -> np.ndarray:
    """Return host memory; it has the buffer protocol, which is all that is asked of it."""
    return np.full(size, 0xFF, np.uint8)
