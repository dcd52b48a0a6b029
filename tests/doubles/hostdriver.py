"""Device memory that is the host's: the double of CuPy on it runs in one process, with a network that can read it."""

import ctypes

import numpy as np

OUT_OF_MEMORY = 2
present = True

_memory: dict[int, np.ndarray] = {}


class CUDARuntimeError(RuntimeError):
    """An error of CUDA's."""


def use(ordinal: int) -> None:
    """There is one device."""
    assert ordinal == 0


def malloc(size: int) -> int:
    """Return the address of new memory, kept for good: what is used after it was freed must not crash the test."""
    block = np.empty(size, np.uint8)
    address = int(block.__array_interface__["data"][0])
    _memory[address] = block
    return address


def memset(address: int, value: int, size: int) -> None:
    """Set bytes."""
    ctypes.memset(address, value, size)


def memcpy(out: int, source: int, size: int) -> None:
    """Copy bytes."""
    ctypes.memmove(out, source, size)
