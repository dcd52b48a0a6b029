"""The synthetic gradient: sums are exact in any order, and no misplaced chunk goes unseen."""

import numpy as np
import pytest

from dpbench.devices.cpu import NumpyDevice
from dpbench.devices.hostdtype import numpy_dtype
from dpbench.dtypes import DTYPES
from dpbench.measure.payload import BLOCK, ROWS, WIDTH, Payload, count_wrong, fill

DEVICE = NumpyDevice()
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
every_job = pytest.mark.parametrize("workers", [2, 64, 300, 2048])


def gradient(payload, worker, count):
    array = DEVICE.empty(count, payload.dtype.name)
    fill(DEVICE, array, DEVICE.from_host(payload.table(worker)))
    return array


@every_dtype
@every_job
def test_all_values_of_a_place_add_up_to_the_total_and_stay_within_the_exact_integers(workers, dtype):
    payload = Payload(workers, dtype, seed=1)
    exact = np.zeros(ROWS * WIDTH, np.int64)
    for worker in range(workers):
        table = payload.table(worker)
        assert table.dtype == numpy_dtype(dtype)
        exact += table.astype(np.int64)
    assert exact.min() >= 1  # a sum of nothing is wrong everywhere
    assert exact.max() <= DTYPES[dtype].exact
    assert payload.total().astype(np.int64).tolist() == exact.tolist()


@every_dtype
@pytest.mark.parametrize("workers", [1, 2, 3, 84, 85, 86, 300, 682, 683, 2048, 100_000])
def test_as_many_workers_as_can_take_part_at_a_place_with_values_up_to_at_least_three(workers, dtype):
    payload = Payload(workers, dtype, seed=1)
    together = -(-workers // payload.turns)
    assert together * payload.largest <= DTYPES[dtype].exact
    assert payload.largest >= 3
    assert payload.turns == 1 or together * 3 > DTYPES[dtype].exact // 2


@every_dtype
@every_job
def test_adding_in_the_dtype_gives_the_total_whatever_the_order(workers, dtype):
    payload = Payload(workers, dtype, seed=2)
    places = np.random.default_rng(0).choice(ROWS * WIDTH, 500, replace=False)
    values = np.stack([payload.table(worker)[places] for worker in range(workers)])
    total = payload.total()[places].tolist()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(workers)
        assert one_after_the_other(values[order]).tolist() == total
        assert pair_by_pair(values[order]).tolist() == total


def one_after_the_other(values):
    running = values[0].copy()
    for value in values[1:]:
        np.add(running, value, running)
    return running


def pair_by_pair(values):
    while len(values) > 1:
        half = len(values) // 2
        values = np.concatenate([values[:half] + values[half : 2 * half], values[2 * half :]])
    return values[0]


@every_dtype
@every_job
@pytest.mark.parametrize("length", [1000, 1024, WIDTH * ROWS])
def test_no_two_chunks_of_any_workers_are_equal_and_none_is_empty(workers, dtype, length):
    """So a chunk that is dropped, doubled or taken for another (worker, chunk) changes an element."""
    payload = Payload(workers, dtype, seed=3)
    chunks = max(40, 2**18 // length)
    drawn = np.random.default_rng(0).choice(workers, min(workers, 6), replace=False)
    same_turn = {0, payload.turns % workers}  # these have values at the same places
    chosen = sorted({1, workers - 1} | same_turn | set(drawn.tolist()))
    seen = {bytes(length * payload.dtype.itemsize)}
    for worker in chosen:
        array = gradient(payload, worker, chunks * length)
        seen.update(array[i * length : (i + 1) * length].tobytes() for i in range(chunks))
    assert len(seen) == 1 + chunks * len(chosen)


@every_dtype
@every_job
def test_a_dropped_doubled_or_swapped_chunk_is_counted_as_wrong(workers, dtype):
    payload = Payload(workers, dtype, seed=4)
    length, chunks = 1000, 30
    count = length * chunks
    right = DEVICE.empty(count, dtype)
    total = DEVICE.from_host(payload.total())
    fill(DEVICE, right, total)
    draw = np.random.default_rng(5)
    for _ in range(10):
        one, other = (gradient(payload, worker, count) for worker in draw.choice(workers, 2, replace=False))
        a, b = (slice(i * length, (i + 1) * length) for i in draw.choice(chunks, 2, replace=False))
        for instead in (0 * one[a], one[a] + one[a], one[b], other[a], other[b]):
            faulty = right.copy()
            faulty[a] = right[a] - one[a] + instead
            assert 0 < count_wrong(DEVICE, faulty, total, [(0, count)]) <= length


@pytest.mark.parametrize("displacement", [WIDTH, WIDTH * ROWS, 2**12, 2**16, 2**20, BLOCK, 1000, 12345])
def test_a_gradient_does_not_repeat_after_any_displacement(displacement):
    payload = Payload(4, "float32", seed=1)
    array = gradient(payload, 1, 2**20 + 2**18)
    same = array[:-displacement] == array[displacement:]
    longest = np.diff(np.flatnonzero(np.concatenate([[True], ~same, [True]]))).max() - 1
    assert longest < 6 * WIDTH


@pytest.mark.parametrize("count", [0, 1, WIDTH - 1, WIDTH, WIDTH + 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
def test_a_shorter_gradient_is_the_beginning_of_a_longer_one(count):
    payload = Payload(3, "int32", seed=1)
    longest = gradient(payload, 2, 3 * BLOCK + 77)
    assert np.array_equal(gradient(payload, 2, count), longest[:count])


def test_wrong_elements_are_counted_within_the_ranges_only():
    payload = Payload(3, "float32", seed=1)
    count = 2 * BLOCK + 100
    total = DEVICE.from_host(payload.total())
    array = DEVICE.empty(count, "float32")
    fill(DEVICE, array, total)
    assert count_wrong(DEVICE, array, total, [(0, count)]) == 0
    array[[0, 63, 64, 5000, BLOCK, count - 1]] = np.nan
    assert count_wrong(DEVICE, array, total, [(0, count)]) == 6
    assert count_wrong(DEVICE, array, total, []) == 0
    between = [(1, 63), (65, 5000), (5001, BLOCK), (BLOCK + 1, count - 1)]
    assert count_wrong(DEVICE, array, total, between) == 0
    assert count_wrong(DEVICE, array, total, [(0, 1), (63, 65), (70, 70), (4999, BLOCK + 1)]) == 5


@every_dtype
def test_an_untouched_output_is_wrong_everywhere(dtype):
    payload = Payload(300, dtype, seed=1)
    array = DEVICE.empty(5000, dtype)
    total = DEVICE.from_host(payload.total())
    for spoil in (DEVICE.poison, lambda array: array.fill(0)):
        spoil(array)
        assert count_wrong(DEVICE, array, total, [(0, 5000)]) == 5000


def test_the_seed_decides_the_values():
    first, again, other = (Payload(5, "float32", seed).table(3) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert Payload(5, "float32", seed=-(2**70) - 1).total().min() >= 1


def test_a_seed_gives_the_same_values_with_every_version_of_every_library():
    payload = Payload(2, "int64", seed=1)
    assert payload.table(0)[:4].tolist() == [21730, 38695, 43543, 23501]
    assert gradient(payload, 0, WIDTH + 4)[WIDTH:].tolist() == [1967, 9682, 54063, 53190]


class QueueingDevice(NumpyDevice):
    """A device whose copies happen only when it is waited for."""

    queues = True

    def __init__(self):
        self.pending = []

    def copier(self, source, out):
        copy = super().copier(source, out)
        return lambda: self.pending.append(copy)

    def wait(self):
        for copy in self.pending:
            copy()
        self.pending.clear()


def test_filling_is_complete_on_return_even_where_operations_queue():
    payload = Payload(2, "float32", seed=1)
    device = QueueingDevice()
    array = device.empty(BLOCK + 5, "float32")
    fill(device, array, payload.table(0))
    assert np.array_equal(array, gradient(payload, 0, BLOCK + 5))


@pytest.mark.parametrize("workers", [8, 16])
def test_a_million_halves_of_many_workers_sum_up_finite_and_right(workers):
    payload, count = Payload(workers, "float16", seed=1), 10**6
    total = gradient(payload, 0, count)
    for worker in range(1, workers):
        total += gradient(payload, worker, count)
    assert np.isfinite(total).all()
    assert count_wrong(DEVICE, total, DEVICE.from_host(payload.total()), [(0, count)]) == 0
