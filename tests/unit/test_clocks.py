"""A GPU that was held back is told in the rows of its size; drivers are doubles."""

from typing import Any

import pytest
from threadedworld import ThreadedWorld, on_ranks

from dpbench.measure.case import Case
from dpbench.measure.clocks import Clocks, slowed
from dpbench.measure.plan import Plan


def gpu(clock: int | None = 1980, bits: int | None = 0, index: int = 0) -> dict[str, Any]:
    return {"index": index, "clock_MHz": clock, "throttle_bits": bits}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (gpu(), gpu(), ""),
        (gpu(), gpu(1900), ""),  # 4 %
        (gpu(), gpu(1800), "the clock of GPU 0 went from 1980 to 1800 MHz"),
        (gpu(345, bits=1), gpu(1980), ""),  # it was idle
        (gpu(), gpu(345, bits=1), ""),
        (gpu(), gpu(1980, bits=0x04), "GPU 0 was held back (power cap) at 1980 MHz"),
        (gpu(), gpu(800, bits=0x48), "GPU 0 was held back (hardware slowdown, hardware thermal slowdown) at 800 MHz"),
        (gpu(), gpu(1980, bits=0x02 | 0x10 | 0x100), ""),  # as somebody has set them
        (gpu(), gpu(None, bits=None), ""),
    ],
)
def test_who_holds_a_gpu_back_is_told(before: dict[str, Any], after: dict[str, Any], told: str) -> None:
    assert slowed([before], [after]) == told
    assert slowed([gpu(), before], [gpu(), after]) == told


def case(device: str) -> Case:
    return Case(Plan("ring", device, 4, 1, None), "")


def test_every_rank_notes_what_the_first_of_a_node_saw_and_each_size_anew() -> None:
    states = [[gpu()], [gpu(bits=0x20)], [gpu()]]

    def rank(world: ThreadedWorld) -> list[str]:
        world.leaders = [0, 0, 2]  # type: ignore[attr-defined]
        mine = iter(states if world.rank == 2 else [[gpu()]] * 3)
        clocks = Clocks(world, True, look=lambda: next(mine))  # type: ignore[arg-type]
        noted = []
        for _ in range(2):
            cases = [case("cuda"), case("cpu")]
            clocks.note(cases)
            noted += [each.slowed for each in cases]
        return noted

    for noted in on_ranks(3, rank):
        assert noted[0].startswith("GPU 0 was held back (software thermal slowdown) at 1980 MHz on ")
        assert noted[1:] == ["", "", ""]


def test_without_gpus_nobody_is_asked() -> None:
    def refuse() -> list[dict[str, Any]]:
        raise AssertionError

    clocks = Clocks(ThreadedWorld(0, 1, [], None), False, look=refuse)  # type: ignore[arg-type]
    clocks.note([case("cpu")])
