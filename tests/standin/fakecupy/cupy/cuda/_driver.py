"""The stand-in driver by ctypes: what the double is made of. Everything is complete on return."""

import ctypes

OUT_OF_MEMORY = 2
INSUFFICIENT_DRIVER = 35  # also CUDA's word for no driver at all
MESSAGES = {
    OUT_OF_MEMORY: "cudaErrorMemoryAllocation: out of memory",
    INSUFFICIENT_DRIVER: "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version",
    100: "cudaErrorNoDevice: no CUDA-capable device is detected",
    101: "cudaErrorInvalidDevice: invalid device ordinal",
}

try:
    _library = ctypes.CDLL("libcuda.so.1")
except OSError:
    _library = None


class CUDARuntimeError(RuntimeError):
    """An error of CUDA's."""

    def __init__(self, status: int, function: str) -> None:
        super().__init__(MESSAGES.get(status, f"{function} returned {status}"))
        self.status = status


def call(name: str, *args: object) -> None:
    """Call a function of the driver, which is started first."""
    _checked("cuInit", 0)
    _checked(name, *args)


def _checked(name: str, *args: object) -> None:
    status = getattr(_library, name)(*args) if _library else INSUFFICIENT_DRIVER
    if status:
        raise CUDARuntimeError(status, name)


def ask(result: "ctypes._SimpleCData", name: str, *args: object) -> int | None:
    """Return what a function of the driver stores through its first argument."""
    call(name, ctypes.byref(result), *args)
    return result.value


def version() -> int:
    """Return the driver's version, which it tells without any device; 0 if there is no driver."""
    number = ctypes.c_int(0)
    if _library is not None:
        _checked("cuDriverGetVersion", ctypes.byref(number))
    return number.value


def use(ordinal: int) -> None:
    """Make a device the current one of this thread."""
    context = ask(ctypes.c_void_p(), "cuDevicePrimaryCtxRetain", ask(ctypes.c_int(), "cuDeviceGet", ordinal))
    call("cuCtxSetCurrent", ctypes.c_void_p(context))


def malloc(size: int) -> int:
    """Return the address of new memory on the current device."""
    if not ask(ctypes.c_void_p(), "cuCtxGetCurrent"):
        use(0)  # CUDA's choice where nobody chose
    return ask(ctypes.c_uint64(), "cuMemAlloc_v2", ctypes.c_size_t(size))


def memset(address: int, value: int, size: int) -> None:
    """Set bytes of device memory."""
    call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(value), ctypes.c_size_t(size))


def memcpy(out: int, source: int, size: int) -> None:
    """Copy between any two of device and host."""
    call("cuMemcpy", ctypes.c_uint64(out), ctypes.c_uint64(source), ctypes.c_size_t(size))
