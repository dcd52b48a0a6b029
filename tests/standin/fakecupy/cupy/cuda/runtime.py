"""CUDA's runtime as far as the double needs it, by the driver. Without a driver it answers as CuPy does."""

import ctypes

memcpyDefault = 4
errorMemoryAllocation = 2
_INSUFFICIENT_DRIVER = 35
_PCI_BUS_ID = 33

try:
    _driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    _driver = None


class CUDARuntimeError(RuntimeError):
    """An error of CUDA's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _call(name: str, *args: object) -> None:
    if _driver is None:
        raise CUDARuntimeError(_INSUFFICIENT_DRIVER, "cudaErrorInsufficientDriver: CUDA driver version is insufficient")
    status = getattr(_driver, name)(*args)
    if status:
        raise CUDARuntimeError(status, f"{name} returned {status}")


def _started(name: str, *args: object) -> None:
    _call("cuInit", 0)
    _call(name, *args)


def _asked(result: "ctypes._SimpleCData", name: str, *args: object) -> int | None:
    """Return what a call of the driver stores through its first argument."""
    _started(name, ctypes.byref(result), *args)
    return result.value


def driverGetVersion() -> int:
    version = ctypes.c_int(0)
    if _driver is not None:
        _call("cuDriverGetVersion", ctypes.byref(version))
    return version.value


def getDeviceCount() -> int:
    return _asked(ctypes.c_int(), "cuDeviceGetCount")


def getDeviceProperties(ordinal: int) -> dict[str, object]:
    device = _asked(ctypes.c_int(), "cuDeviceGet", ordinal)
    name, uuid = ctypes.create_string_buffer(256), ctypes.create_string_buffer(16)
    _call("cuDeviceGetName", name, len(name), device)
    _call("cuDeviceGetUuid_v2", uuid, device)
    return {"name": name.value, "uuid": uuid.raw}


def deviceGetPCIBusId(ordinal: int) -> str:
    bus = _asked(ctypes.c_int(), "cuDeviceGetAttribute", _PCI_BUS_ID, ordinal)
    return f"0000:{bus:02X}:00.0"


def setDevice(ordinal: int) -> None:
    device = _asked(ctypes.c_int(), "cuDeviceGet", ordinal)
    context = ctypes.c_void_p()
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _call("cuCtxSetCurrent", context)


def malloc(size: int) -> int:
    if not _asked(ctypes.c_void_p(), "cuCtxGetCurrent"):
        setDevice(0)  # CUDA's choice where nobody chose
    return _asked(ctypes.c_uint64(), "cuMemAlloc_v2", ctypes.c_size_t(size))


def memset(address: int, value: int, size: int) -> None:
    _call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(value), ctypes.c_size_t(size))


def memcpy(out: int, source: int, size: int) -> None:
    _call("cuMemcpy", ctypes.c_uint64(out), ctypes.c_uint64(source), ctypes.c_size_t(size))


def memcpyAsync(out: int, source: int, size: int, kind: int, stream: int) -> None:
    from cupy.cuda import stream_of

    assert kind == memcpyDefault
    stream_of(stream).begin(lambda: memcpy(out, source, size))
