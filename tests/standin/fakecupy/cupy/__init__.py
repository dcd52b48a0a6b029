"""A double of CuPy on the stand-in driver: the calls that dpbench makes of CuPy, and no others.

It is as unhelpful as CUDA may be. An operation only waits in its stream until somebody synchronises that stream. It
remembers addresses, not arrays, so memory that is freed too early is somebody else's by then. New memory holds 0xFF.
"""

import math

import numpy as np

from cupy import cuda
from cupy.cuda import _driver
from cupy.cuda.memory import MemoryPointer

__version__ = "14.2.0"

__all__ = ["add", "asarray", "count_nonzero", "cuda", "empty", "multiply", "ndarray", "subtract"]


class ndarray:
    """A contiguous array in device memory."""

    __hash__ = None

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, data: MemoryPointer) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.data = data

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: slice) -> "ndarray":
        start, stop, step = key.indices(len(self))
        assert len(self.shape) == 1
        assert step == 1
        return ndarray((max(0, stop - start),), self.dtype, self.data + start * self.dtype.itemsize)

    def __array__(self, *_: object, **__: object) -> None:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __ne__(self, other: "ndarray") -> "ndarray":
        return computed(np.not_equal, (self, other), bool)

    def __int__(self) -> int:
        assert self.size == 1
        stream = cuda.get_current_stream()
        stream.synchronize()
        return int(download(self)[0])

    def reshape(self, *shape: int) -> "ndarray":
        known = np.empty(self.shape, bool).reshape(shape).shape
        return ndarray(known, self.dtype, self.data)

    def take(self, rows: "ndarray", axis: int) -> "ndarray":
        assert axis == 0
        shape = (len(rows), *self.shape[1:])
        return computed(lambda table, index: table.take(index, axis=0), (self, rows), self.dtype, shape)


def empty(shape: int | tuple[int, ...], dtype: np.dtype) -> ndarray:
    sizes = shape if isinstance(shape, tuple) else (shape,)
    return ndarray(sizes, dtype, cuda.allocate(math.prod(sizes) * np.dtype(dtype).itemsize))


def asarray(values: np.ndarray) -> ndarray:
    assert isinstance(values, np.ndarray)
    array = empty(values.shape, values.dtype)
    copy = values.copy()  # CUDA has read pageable memory when the call returns
    where = array.data.ptr
    cuda.get_current_stream().begin(lambda: _driver.memcpy(where, copy.ctypes.data, copy.nbytes))
    return array


def add(left: ndarray, right: ndarray, out: ndarray) -> ndarray:
    assert left.shape == right.shape == out.shape
    assert left.dtype == right.dtype == out.dtype
    return compute(np.add, (left, right), out)


def multiply(left: ndarray, right: np.generic, out: ndarray) -> ndarray:
    assert left.shape == out.shape
    assert left.dtype == right.dtype == out.dtype
    return compute(lambda values: values * right, (left,), out)


def subtract(left: ndarray, right: ndarray, out: ndarray) -> ndarray:
    assert left.shape == right.shape == out.shape
    assert left.dtype == right.dtype == out.dtype
    return compute(np.subtract, (left, right), out)


def count_nonzero(array: ndarray) -> ndarray:
    return computed(np.count_nonzero, (array,), np.int64, ())


def computed(function, operands, dtype, shape=None) -> ndarray:
    """Return a new array that will hold the function's result."""
    return compute(function, operands, empty(operands[0].shape if shape is None else shape, dtype))


def compute(function, operands, out: ndarray) -> ndarray:
    """Begin `out = function(*operands)` on the current stream."""
    views = [view(operand) for operand in operands]
    where, dtype = out.data.ptr, out.dtype

    def kernel() -> None:
        with np.errstate(all="ignore"):
            result = np.asarray(function(*(host_copy(*each) for each in views)), dtype)
        _driver.memcpy(where, result.ctypes.data, result.nbytes)

    cuda.get_current_stream().begin(kernel)
    return out


def view(array: ndarray) -> tuple[int, tuple[int, ...], np.dtype]:
    return array.data.ptr, array.shape, array.dtype


def host_copy(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    copy = np.empty(shape, dtype)
    _driver.memcpy(copy.ctypes.data, address, copy.nbytes)
    return copy


def download(array: ndarray) -> np.ndarray:
    return host_copy(*view(array)).reshape(-1)
