"""Whether GPUs ran at full speed: their driver is asked before the first size and after each."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dpbench.devices.nvml import gpus
from dpbench.engine.hosts import host_name
from dpbench.measure.case import Case

if TYPE_CHECKING:
    from dpbench.engine.world import World

Gpu = Mapping[str, Any]

MOVED = 0.05  #: of a busy GPU's clock: nvbench tells of clocks that are lower than they should be; ours
IDLE = 0x1  # nvml.h: nvmlClocksThrottleReasonGpuIdle
REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


class Clocks:
    """The GPUs of all nodes; nobody is asked where none is used. Making one and `note` are collective."""

    def __init__(self, world: "World", uses_gpus: bool, look: Callable[[], list[dict[str, Any]]] = gpus) -> None:
        self.world = world
        self.look = look
        self.uses_gpus = uses_gpus
        self.before = self.state()

    def state(self) -> list[dict[str, Any]]:
        """Return the state of this node's GPUs, on the first of its ranks."""
        return self.look() if self.uses_gpus and self.world.leaders[self.world.rank] == self.world.rank else []

    def note(self, cases: Iterable[Case]) -> None:
        """Note in the cases on GPUs what has slowed one since the last call."""
        if not self.uses_gpus:
            return
        now = self.state()
        found = slowed(self.before, now)
        self.before = now
        told = list(filter(None, self.world.gather(found and f"{found} on {host_name()}")))
        for case in cases:
            if told and case.plan.device != "cpu":
                case.slowed = told[0] + (f", and on {len(told) - 1} more nodes" if told[1:] else "")


def slowed(before: Iterable[Gpu], after: Iterable[Gpu]) -> str:
    """Return which GPU was held back, and why; empty if none was. An idle GPU's clock says nothing."""
    for old, new in zip(before, after, strict=False):
        bits, clock, was = new.get("throttle_bits") or 0, new.get("clock_MHz"), old.get("clock_MHz")
        why = [name for bit, name in REASONS.items() if bits & bit]
        if why:
            return f"GPU {new['index']} was held back ({', '.join(why)}) at {clock} MHz"
        idle = (bits | (old.get("throttle_bits") or 0)) & IDLE
        if clock and was and not idle and abs(clock - was) > MOVED * was:
            return f"the clock of GPU {new['index']} went from {was} to {clock} MHz"
    return ""
