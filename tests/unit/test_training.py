"""Training steps: what is refused, how long weights stay within their type, and that no wrong one is missed."""

from typing import Any

import numpy as np
import pytest

from dpbench.devices.cpu import NumpyDevice
from dpbench.devices.hostdtype import numpy_dtype
from dpbench.dtypes import DTYPES
from dpbench.engine.memory import Buffers, Weights, pair_of
from dpbench.errors import UsageError
from dpbench.measure.expected import Trained
from dpbench.measure.options import Options, Training, check_training
from dpbench.measure.payload import Payload, fill
from dpbench.measure.plan import MOST_STEPS, most_runs
from dpbench.measure.stopping import LEAST_SAMPLES, MOST_SAMPLES

REAL = [name for name, dtype in DTYPES.items() if dtype.least]
COUNT = 1000


def options(dtype: str, rate: float) -> Options:
    return Options("dpbench step", dtype=dtype, training=Training(rate))


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name not in REAL])
def test_integers_are_no_weights(dtype: str) -> None:
    with pytest.raises(UsageError, match=f"--dtype {dtype}: weights are real numbers; take one of float32"):
        check_training(options(dtype, 0.01))
    check_training(Options("dpbench", dtype=dtype))


@pytest.mark.parametrize("dtype", REAL)
def test_the_bounds_of_a_type_are_those_of_the_numbers_that_it_holds(dtype: str) -> None:
    kind = numpy_dtype(dtype).type
    least, most = DTYPES[dtype].least, DTYPES[dtype].most
    assert least is not None
    assert most is not None
    assert float(kind(least)) == least
    assert float(kind(most)) == most
    with np.errstate(over="ignore"):
        assert not np.isfinite(kind(most) * kind(2))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("rate", [1e-300, 1e-30, 1e-4, 0.01, 0.5, 1.0, 4.5, 100.0, 1e9])
def test_weights_never_leave_their_type_within_the_runs_that_are_compared(dtype: str, rate: float) -> None:
    asked, kind = options(dtype, rate), DTYPES[dtype]
    assert kind.least is not None
    assert kind.most is not None
    if rate < kind.least or rate * kind.exact * (LEAST_SAMPLES + 1) > kind.most:
        with pytest.raises(UsageError, match=f"weights of {dtype} need a rate from"):
            check_training(asked)
        return
    check_training(asked)
    runs = most_runs(asked)
    assert LEAST_SAMPLES <= runs <= MOST_STEPS
    assert kind.exact * (1 + runs * rate) <= kind.most


def test_an_exchange_is_compared_after_any_number_of_runs() -> None:
    assert most_runs(Options("dpbench")) == MOST_SAMPLES


class Steps:
    """The weights of one worker alone, which are trained by hand."""

    def __init__(self, dtype: str, rate: float, *, own: bool = True) -> None:
        device, payload = NumpyDevice(), Payload(1, dtype, seed=1)
        self.kind = numpy_dtype(dtype).type
        weights = Weights(*pair_of(device, COUNT, dtype)[0], rate)
        self.buffers = Buffers(*pair_of(device, COUNT, dtype), weights)
        everything = [(0, COUNT)]
        kept = everything if own else []
        self.right = Trained(
            device, self.buffers, payload.weights(), payload.total(), ranges=everything, own=kept
        )
        fill(device, self.buffers.input.array, device.from_host(payload.table(0)))
        self.right.spoil()

    @property
    def weights(self) -> Any:
        assert self.buffers.weights is not None
        return self.buffers.weights.array

    def step(self, spoiled: float = 0) -> None:
        assert self.buffers.weights is not None
        total = self.buffers.output.array
        np.copyto(total, self.buffers.input.array)
        total[3] += self.kind(spoiled)
        NumpyDevice().updater(self.weights, total, self.buffers.weights.rate)()


@pytest.mark.parametrize("dtype", REAL)
def test_right_steps_are_right(dtype: str) -> None:
    steps = Steps(dtype, 0.01)
    for _ in range(10):
        steps.step()
    assert steps.right.count_wrong(10) == 0
    assert steps.right.count_wrong(9) > 0


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("rate", [0.01, 1e-4, 1.0])
def test_a_wrong_sum_is_found_even_where_weights_are_too_coarse_to_show_it(dtype: str, rate: float) -> None:
    steps = Steps(dtype, rate)
    steps.step(spoiled=1)
    assert steps.right.count_wrong(1) >= 1


def test_a_step_that_was_not_made_is_found_at_any_rate() -> None:
    assert Steps("float32", 1e-30).right.count_wrong(1) == COUNT


def test_weights_that_were_not_pulled_are_found() -> None:
    assert Steps("float32", 0.01, own=False).right.count_wrong(1) == COUNT
