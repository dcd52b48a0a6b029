"""NVIDIA's GPUs as their driver's own library tells of them: no CuPy, no process, and no memory on any GPU.

Where there is no such library there is no GPU; what a driver does not tell is None.
"""

import ctypes
from contextlib import suppress
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
TEXT = 96  # bytes of a name, UUID or version: more than each may have (nvml.h)
SM_CLOCK = 1


def gpus(library: Any = None) -> list[dict[str, Any]]:
    """Return the GPUs of this machine, whoever may use them; `library` is for tests."""
    with suppress(OSError):
        nvml = library or ctypes.CDLL(LIBRARY)
        if call(nvml, "nvmlInit_v2"):
            try:
                return [gpu(nvml, index) for index in range(word(nvml, "nvmlDeviceGetCount_v2") or 0)]
            finally:
                call(nvml, "nvmlShutdown")
    return []


def gpu(nvml: Any, index: int) -> dict[str, Any]:
    """Return the facts of one GPU: what it is, and how fast it may run now."""
    handle, mig = ctypes.c_void_p(), ctypes.c_uint()
    if not call(nvml, "nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(handle)):
        return {"index": index, "name": None}
    has_mig = call(nvml, "nvmlDeviceGetMigMode", handle, ctypes.byref(mig), ctypes.byref(ctypes.c_uint()))
    return {
        "index": index,
        "name": text(nvml, "nvmlDeviceGetName", handle),
        "uuid": text(nvml, "nvmlDeviceGetUUID", handle),
        "driver": text(nvml, "nvmlSystemGetDriverVersion"),
        "clock_MHz": word(nvml, "nvmlDeviceGetClockInfo", handle, SM_CLOCK),
        "throttle_bits": word(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", handle, kind=ctypes.c_ulonglong),
        "mig": bool(mig.value) if has_mig else None,
    }


def call(nvml: Any, name: str, *args: Any) -> bool:
    """Return whether a function is there and says that all is well; older drivers lack some."""
    ask = getattr(nvml, name, None)
    return ask is not None and ask(*args) == 0


def text(nvml: Any, name: str, *args: Any) -> str | None:
    """Return a text that a function fills in; None if it does not."""
    buffer = ctypes.create_string_buffer(TEXT)
    return buffer.value.decode(errors="replace") if call(nvml, name, *args, buffer, ctypes.c_uint(TEXT)) else None


def word(nvml: Any, name: str, *args: Any, kind: Any = ctypes.c_uint) -> int | None:
    """Return a number that a function fills in; None if it does not."""
    value = kind()
    return int(value.value) if call(nvml, name, *args, ctypes.byref(value)) else None
