import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from dpbench.devices.inventory import missing_for_cuda, ordinal_of


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def insufficient_driver() -> int:
    raise CUDARuntimeError(35, "cudaErrorInsufficientDriver: CUDA driver version is insufficient")


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A CuPy that sees a driver and two GPUs, until a test changes it."""
    runtime = SimpleNamespace(
        driverGetVersion=lambda: 13000, getDeviceCount=lambda: 2, CUDARuntimeError=CUDARuntimeError
    )
    module: Any = ModuleType("cupy")
    module.cuda = SimpleNamespace(runtime=runtime)
    monkeypatch.setitem(sys.modules, "cupy", module)
    found = importlib.util.spec_from_loader("cupy", loader=None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: found)
    return runtime


def test_nothing_is_missing_where_cupy_sees_a_gpu(cupy: Any) -> None:
    assert missing_for_cuda() is None


def test_without_cupy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    obstacle = missing_for_cuda()
    assert obstacle is not None
    assert obstacle.fact == "CuPy is not installed"
    assert "pip install cupy-cuda12x" in obstacle.remedy


def test_no_driver_is_said_to_be_none_not_too_old(cupy: Any) -> None:
    cupy.driverGetVersion = lambda: 0
    cupy.getDeviceCount = insufficient_driver
    assert "no NVIDIA driver" in str(missing_for_cuda())


def test_a_driver_that_is_too_old_is_said_to_be(cupy: Any) -> None:
    cupy.getDeviceCount = insufficient_driver
    assert "cudaErrorInsufficientDriver" in str(missing_for_cuda())


def test_a_failed_look_is_never_taken_for_a_gpu(cupy: Any) -> None:
    def none() -> int:
        raise CUDARuntimeError(100, "cudaErrorNoDevice: no CUDA-capable device is detected")

    for cupy.getDeviceCount in (none, lambda: 0):
        assert "the driver shows no GPU" in str(missing_for_cuda())


def test_a_broken_cupy_is_an_obstacle_and_no_traceback(monkeypatch: pytest.MonkeyPatch, cupy: Any) -> None:
    def broken(name: str) -> None:
        raise ImportError("libcublas.so.12: cannot open shared object file")

    monkeypatch.setattr("importlib.import_module", broken)
    assert "libcublas.so.12" in str(missing_for_cuda())


@pytest.mark.parametrize(
    ("visible", "ordinals"), [(1, [0, 0, 0, 0]), (2, [0, 1, 0, 1]), (4, [0, 1, 2, 3]), (8, [0, 1, 2, 3])]
)
def test_ranks_take_the_gpus_they_see_in_turn(cupy: Any, visible: int, ordinals: list[int]) -> None:
    cupy.getDeviceCount = lambda: visible
    assert [ordinal_of(local_rank) for local_rank in range(4)] == ordinals
