"""What an exchange, or some training steps, must leave behind: spoiled before the timed loop, compared after it."""

from typing import Any, Protocol

import numpy as np

from dpbench.devices.base import Device
from dpbench.engine.memory import Buffers
from dpbench.measure.payload import Ranges, count_wrong, fill


class Expected(Protocol):
    """What this rank must hold in the end."""

    def spoil(self) -> None:
        """Make what it holds wrong: only what is timed makes it right."""

    def count_wrong(self, runs: int) -> int:
        """Return how many elements are wrong after so many runs since they were spoiled."""


class Sums:
    """The sum of the gradients, whose table is `total` (on the device), in `ranges` of the output."""

    def __init__(self, device: Device, output: Any, total: Any, ranges: Ranges) -> None:
        self.device, self.output, self.total, self.ranges = device, output, total, ranges

    def spoil(self) -> None:
        """Overwrite the output with what is never a right sum."""
        self.device.poison(self.output)

    def count_wrong(self, runs: int) -> int:
        """Return how many elements are not the sum's; each run makes the same."""
        return count_wrong(self.device, self.output, self.total, self.ranges)


class Trained:
    """The weights after steps of gradient descent, in `ranges`; this rank keeps those of `own` between the steps.

    `start` and `total`, of the weights at first and of the summed gradients, are tables of the host.
    """

    def __init__(
        self, device: Device, buffers: Buffers, start: Any, total: Any, *, ranges: Ranges, own: Ranges
    ) -> None:
        assert buffers.weights is not None
        self.device, self.ranges, self.own = device, ranges, own
        self.weights, self.spent = buffers.weights.array, buffers.output.array
        self.start, self.change = start, total * start.dtype.type(buffers.weights.rate)
        self.first, self.last_change = device.from_host(start), device.from_host(self.change)

    def spoil(self) -> None:
        """Begin anew where the weights are kept, and overwrite those that are pulled."""
        self.device.poison(self.weights)
        fill(self.device, self.weights, self.first, self.own)

    def count_wrong(self, runs: int) -> int:
        """Return how many weights differ from those of as many steps by one process alone.

        And how many elements of the last change, rate * sum, which the weights may be too coarse to show.
        """
        table = self.start.copy()
        for _ in range(runs):
            np.subtract(table, self.change, table)
        wrong = count_wrong(self.device, self.weights, self.device.from_host(table), self.ranges)
        return wrong + count_wrong(self.device, self.spent, self.last_change, self.own)
