"""dpbench's engine and its CuPy device on memory that only a driver can touch, under real MPI libraries."""

import signal
import sys
from pathlib import Path

import pytest
from launcher import Finished, launcher, mpirun, run
from standin.driver import environment

EXCHANGE = str(Path(__file__).with_name("exchange.py"))
CASES = 80

READ = """
import ctypes, cupy, numpy
array = cupy.asarray(numpy.arange(10))
cupy.cuda.get_current_stream().synchronize()
print(int(cupy.count_nonzero(array)), flush=True)
ctypes.string_at(array.data.ptr, 1)
"""

WRITE = """
import ctypes, cupy
array = cupy.empty(10, "u1")
print(array.nbytes, flush=True)
ctypes.memset(array.data.ptr, 0, 1)
"""

HAND_OVER = """
import cupy
from mpi4py.MPI import BYTE, COMM_SELF, memory
arrays = [cupy.empty({size}, "u1") for _ in range(2)]
sent, received = ([memory.fromaddress(array.data.ptr, {size}), {size}, BYTE] for array in arrays)
print("sending", flush=True)
COMM_SELF.Sendrecv(sent, 0, 0, received, 0, 0)
"""

DEVICES = """
from cupy.cuda import Device, runtime
for ordinal in range(runtime.getDeviceCount()):
    print(Device(ordinal).pci_bus_id, runtime.getDeviceProperties(ordinal)["uuid"][15])
"""

NO_DEVICES = """
from cupy.cuda import runtime
print(runtime.driverGetVersion())
try:
    print(runtime.getDeviceCount())
except runtime.CUDARuntimeError as error:
    print(error.status)
"""

OVERRUN = """
import numpy
from cupy.cuda import _driver
host, device = numpy.zeros(8192, "u1"), _driver.malloc(4096)
for start, size in ((0, 4096), (4095, 1), (0, 4097), (4095, 2), (4096, 1)):
    try:
        _driver.memcpy(device + start, host.ctypes.data, size)
        print("copied", start, size)
    except _driver.CUDARuntimeError:
        print("refused", start, size)
"""

LAZY = """
import cupy, numpy
from cupy.cuda import Stream, _driver, runtime
one, result = cupy.asarray(numpy.array([1.0])), cupy.empty(1, "f8")
cupy.cuda.get_current_stream().synchronize()
stream, host = Stream(non_blocking=True), numpy.zeros(1)
def result_now():
    _driver.memcpy(host.ctypes.data, result.data.ptr, 8)
    return host[0]
with stream:
    cupy.add(one, one, result)
print(result_now(), stream.done, result_now(), stream.done)
runtime.memcpyAsync(result.data.ptr, one.data.ptr, 8, runtime.memcpyDefault, stream.ptr)
print(result_now())
stream.synchronize()
print(result_now())
"""

AT_ONCE = """
import numpy
from cupy.cuda import _driver
from dpbench.devices.cuda import CudaDevice
device, host = CudaDevice(0), numpy.zeros(4, "u1")
def now(array):
    _driver.memcpy(host.ctypes.data, device.address(array), 4)
    return host.tolist()
array = device.from_host(numpy.arange(4, dtype="u1"))
print(now(array))
print(now(device.take(array, numpy.array([1, 0]), 2)))
device.poison(array)
print(now(array))
"""


def python(code: str, aware: bool = False, **variables: str) -> Finished:
    """Run code in one process that finds the stand-in."""
    _, environ = launcher()
    return run([sys.executable, "-c", code], environ | environment(aware) | variables, timeout=60)


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_strategy_is_right_and_touches_no_device_memory_from_the_host(ranks: int) -> None:
    job = mpirun(ranks, EXCHANGE, "cuda", env=environment(aware=True))
    assert (job.returncode, job.stdout.strip()) == (0, f"{CASES} right"), job.stderr


@pytest.mark.parametrize("ranks", [2, 4])
def test_staging_through_the_host_works_with_a_library_that_knows_no_gpu(ranks: int) -> None:
    job = mpirun(ranks, EXCHANGE, "cuda-staged", env=environment(aware=False))
    assert (job.returncode, job.stdout.strip()) == (0, f"{CASES} right"), job.stderr


@pytest.mark.parametrize(("code", "said"), [(READ, "9"), (WRITE, "10")])
def test_who_touches_device_memory_from_the_host_dies(code: str, said: str) -> None:
    job = python(code)
    assert (job.returncode, job.stdout.strip()) == (-signal.SIGSEGV, said), job.stderr


@pytest.mark.parametrize("size", [64, 2**20])
def test_a_library_that_knows_no_gpu_dies_of_device_memory(size: int) -> None:
    job = python(HAND_OVER.format(size=size))
    assert (job.returncode, job.stdout.strip()) == (-signal.SIGSEGV, "sending"), job.stderr


def test_devices_are_those_that_are_visible() -> None:
    assert python(DEVICES, STANDIN_DEVICES="2").stdout.splitlines() == ["0000:40:00.0 1", "0000:41:00.0 2"]
    chosen = python(DEVICES, STANDIN_DEVICES="4", CUDA_VISIBLE_DEVICES="3,1,7,2")
    assert chosen.stdout.splitlines() == ["0000:43:00.0 4", "0000:41:00.0 2"]


def test_without_a_device_or_without_a_driver_the_double_says_what_cupy_says() -> None:
    no_device, insufficient_driver = "100", "35"
    assert python(NO_DEVICES, CUDA_VISIBLE_DEVICES="").stdout.split() == ["13000", no_device]
    assert python(NO_DEVICES, LD_LIBRARY_PATH="").stdout.split() == ["0", insufficient_driver]


def test_a_copy_beyond_an_allocation_is_refused() -> None:
    said = [line.split()[0] for line in python(OVERRUN).stdout.splitlines()]
    assert said == ["copied", "copied", "refused", "refused", "refused"]


def test_a_stream_does_nothing_until_it_is_waited_for() -> None:
    assert python(LAZY).stdout.split() == ["nan", "False", "2.0", "True", "2.0", "1.0"]


def test_what_the_device_does_not_queue_is_complete_when_its_call_returns() -> None:
    said = python(AT_ONCE).stdout.splitlines()
    assert said == ["[0, 1, 2, 3]", "[2, 3, 0, 1]", "[255, 255, 255, 255]"]
