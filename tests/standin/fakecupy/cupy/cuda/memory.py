"""Device memory of the double: blocks, pointers into them, and a pool."""

from collections import defaultdict

from cupy.cuda import _driver


class OutOfMemoryError(MemoryError):
    """The device has not so much memory."""


class Block:
    """Memory of the device, given back to its pool when nothing points into it."""

    def __init__(self, pool: "MemoryPool", ptr: int, size: int) -> None:
        self.pool, self.ptr, self.size = pool, ptr, size

    def __del__(self) -> None:
        self.pool.free[self.size].append(self.ptr)


class MemoryPointer:
    """A place in a block."""

    def __init__(self, mem: Block | None, ptr: int) -> None:
        self.mem = mem
        self.ptr = ptr

    def __add__(self, offset: int) -> "MemoryPointer":
        return MemoryPointer(self.mem, self.ptr + offset)

    def memset(self, value: int, size: int) -> None:
        """Begin to set bytes, on the default stream; CUDA does not wait for that either."""
        from cupy.cuda import default_stream

        default_stream.begin(lambda: _driver.memset(self.ptr, value, size))


class MemoryPool:
    """Blocks of the sizes asked for, used again but not cleared."""

    GRAIN = 512

    def __init__(self) -> None:
        self.free: dict[int, list[int]] = defaultdict(list)

    def malloc(self, size: int) -> MemoryPointer:
        if size == 0:
            return MemoryPointer(None, 0)
        size = -(-size // self.GRAIN) * self.GRAIN
        ptr = self.free[size].pop() if self.free[size] else self._fresh(size)
        return MemoryPointer(Block(self, ptr, size), ptr)

    def _fresh(self, size: int) -> int:
        try:
            ptr = _driver.malloc(size)
        except _driver.CUDARuntimeError as error:
            if error.status == _driver.OUT_OF_MEMORY:
                raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes") from error
            raise
        _driver.memset(ptr, 0xFF, size)
        return ptr
