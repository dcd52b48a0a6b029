"""CUDA's runtime as CuPy shows it, as far as it is asked. Without a driver it answers as CuPy does."""

import ctypes

from cupy.cuda import _driver
from cupy.cuda._driver import CUDARuntimeError

__all__ = ["CUDARuntimeError", "memcpyDefault"]

memcpyDefault = 4
_PCI_BUS_ID = 33


def driverGetVersion() -> int:
    return _driver.version()


def getDeviceCount() -> int:
    return _driver.ask(ctypes.c_int(), "cuDeviceGetCount")


def getDeviceProperties(ordinal: int) -> dict[str, object]:
    device = _driver.ask(ctypes.c_int(), "cuDeviceGet", ordinal)
    name, uuid = ctypes.create_string_buffer(256), ctypes.create_string_buffer(16)
    _driver.call("cuDeviceGetName", name, len(name), device)
    _driver.call("cuDeviceGetUuid_v2", uuid, device)
    return {"name": name.value, "uuid": uuid.raw}


def deviceGetPCIBusId(ordinal: int) -> str:
    bus = _driver.ask(ctypes.c_int(), "cuDeviceGetAttribute", _PCI_BUS_ID, ordinal)
    return f"0000:{bus:02X}:00.0"


def memcpyAsync(out: int, source: int, size: int, kind: int, stream: int) -> None:
    from cupy.cuda import stream_of

    assert kind == memcpyDefault
    stream_of(stream).begin(lambda: _driver.memcpy(out, source, size))
