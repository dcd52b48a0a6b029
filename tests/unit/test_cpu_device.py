"""The host device: arrays that are backed, additions in place, poison that is never right."""

import warnings

import numpy as np
import pytest

from dpbench.devices.base import Device
from dpbench.devices.cpu import BLOCK, HUGE_PAGE, PAGE, NumpyDevice
from dpbench.devices.hostdtype import missing_for, numpy_dtype
from dpbench.dtypes import DTYPES
from dpbench.errors import Unsuitable

every_dtype = pytest.mark.parametrize("dtype", DTYPES)


@pytest.fixture
def device() -> Device:
    return NumpyDevice()


def counting(device, dtype, count, start=0):
    return device.from_host(np.arange(start, start + count).astype(numpy_dtype(dtype)))


@every_dtype
def test_an_element_type_has_the_size_and_exact_range_that_dtypes_declares(dtype):
    kind = numpy_dtype(dtype)
    exact = DTYPES[dtype].exact
    assert kind.itemsize == DTYPES[dtype].itemsize
    assert kind.name == dtype
    assert [int(np.array(n).astype(kind)) for n in (exact - 1, exact)] == [exact - 1, exact]


@every_dtype
@pytest.mark.parametrize("count", [1, 1000, 4097])
def test_an_array_is_aligned_contiguous_and_as_long_as_asked(device, dtype, count):
    array = device.empty(count, dtype)
    assert array.shape == (count,)
    assert array.dtype == numpy_dtype(dtype)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert device.address(array) % PAGE == 0
    assert device.empty(0, dtype).shape == (0,)


def test_a_large_array_begins_on_a_huge_page(device):
    assert device.address(device.empty(HUGE_PAGE, "uint8")) % HUGE_PAGE == 0


def test_an_address_counts_in_bytes_from_the_first_element(device):
    array = device.empty(100, "float32")
    assert device.address(array[10:]) - device.address(array) == 40


def test_an_array_that_no_memory_can_hold_is_an_error_that_says_so(device):
    with pytest.raises(Unsuitable, match="no memory for an array of 1152921504606846976 bytes"):
        device.empty(2**60, "uint8")


def test_bfloat16_without_its_package_is_an_obstacle_that_names_the_extra(monkeypatch):
    assert missing_for("float16") is None
    assert missing_for("bfloat16") is None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert missing_for("float16") is None
    assert missing_for("bfloat16").remedy == "pip install 'dpbench[bfloat16]'"


@every_dtype
def test_a_copy_from_the_host_is_equal_and_independent(device, dtype):
    values = np.arange(100).astype(numpy_dtype(dtype))
    array = device.from_host(values)
    values[:] = 0
    assert array.tolist() == list(range(100))


@every_dtype
def test_a_prebuilt_addition_can_be_called_again_and_may_write_its_left_operand(device, dtype):
    left, right = counting(device, dtype, 50), counting(device, dtype, 50, start=1)
    out = device.empty(50, dtype)
    outside = device.adder(left, right, out)
    outside()
    assert out.tolist() == [2 * i + 1 for i in range(50)]
    inside = device.adder(left, right, left)
    inside()
    inside()
    assert left.tolist() == [3 * i + 2 for i in range(50)]
    outside()
    assert out.tolist() == [4 * i + 3 for i in range(50)]


@every_dtype
def test_a_prebuilt_copy_takes_what_the_source_holds_when_it_is_called(device, dtype):
    source, out = counting(device, dtype, 10), device.empty(10, dtype)
    copy = device.copier(source, out)
    source[3] = 77
    copy()
    assert out.tolist() == [0, 1, 2, 77, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_an_update_is_two_rounded_operations_and_spends_the_gradient(device, dtype):
    count = BLOCK + 100
    values = np.arange(count) % 97
    weights, gradient = (device.from_host((values + shift).astype(numpy_dtype(dtype))) for shift in (1, 5))
    scaled = gradient * gradient.dtype.type(0.01)
    expected = weights - scaled
    device.updater(weights, gradient, 0.01)()
    assert weights.dtype == expected.dtype == numpy_dtype(dtype)
    assert np.array_equal(weights, expected)
    assert np.array_equal(gradient, scaled)


@every_dtype
def test_poison_differs_from_every_sum(device, dtype):
    array = device.empty(1000, dtype)
    device.poison(array)
    assert bytes(array.view(np.uint8)) == b"\xff" * array.nbytes
    exact = DTYPES[dtype].exact
    for right in (0, 1, 2, exact):
        expected = np.full(1000, right).astype(numpy_dtype(dtype))
        assert device.count_different(array, expected) == 1000


@every_dtype
def test_different_elements_are_counted(device, dtype):
    array, expected = counting(device, dtype, 100), counting(device, dtype, 100)
    assert device.count_different(array, expected) == 0
    array[[0, 50, 99]] = 101
    assert device.count_different(array, expected) == 3
    assert device.count_different(array[:0], expected[:0]) == 0


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("float16", [0x7E00, 0x7D00, 0xFE00, 0x7C00]),
        ("bfloat16", [0x7FC0, 0x7FA0, 0xFFC0, 0x7F80]),
        ("float32", [0x7FC00000, 0x7FA00000, 0xFFC00000, 0x7F800000]),
        ("float64", [0x7FF8 << 48, 0x7FF4 << 48, 0xFFF8 << 48, 0x7FF0 << 48]),
    ],
)
def test_nan_of_either_kind_and_infinity_are_wrong_without_a_warning(device, dtype, bits):
    array, expected = counting(device, dtype, 4), counting(device, dtype, 4)
    array[:] = np.array(bits, f"uint{8 * array.itemsize}").view(array.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert device.count_different(array, expected) == 4
        assert device.count_different(array, array.copy()) == 3  # infinity equals itself, NaN does not
