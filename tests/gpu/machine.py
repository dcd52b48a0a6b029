"""A program: say what is measured on, a line each for the GPUs, the software and the CPU cores."""

import os
import platform
from importlib.metadata import version

import cupy
import numpy
from cupy.cuda import runtime

from dpbench import __version__
from dpbench.devices.cuda import identity_of


def gpu(ordinal: int) -> str:
    """Return a GPU's name and identity."""
    return f"{runtime.getDeviceProperties(ordinal)['name'].decode()}, {identity_of(ordinal)}"


if __name__ == "__main__":
    for ordinal in range(runtime.getDeviceCount()):
        print(f"GPU {ordinal}: {gpu(ordinal)}")
    driver = runtime.driverGetVersion()
    print(f"CUDA driver {driver // 1000}.{driver % 1000 // 10}, CuPy {cupy.__version__}, NumPy {numpy.__version__}")
    print(f"dpbench {__version__}, mpi4py {version('mpi4py')}, Python {platform.python_version()}")
    print(f"{len(os.sched_getaffinity(0))} cores, {platform.platform()}")
