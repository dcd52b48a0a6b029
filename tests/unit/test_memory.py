"""Whether there is memory for a size: counted with all that it takes, and refused by all ranks with one reason."""

from typing import Any

import pytest
from threadedworld import on_ranks

from dpbench.errors import Unsuitable
from dpbench.measure import memory
from dpbench.measure.memory import needed, require_memory
from dpbench.measure.payload import BLOCK
from dpbench.measure.plan import Plan
from dpbench.strategies.registry import strategies

GB = 10**9
MIB = 2**20


def plan(name: str, ranks: int = 4, nbytes: int = 4 * MIB) -> Plan:
    roles = strategies()[name].roles(ranks)
    return Plan(name, "cpu", nbytes, nbytes // 4, roles, 1, 1)


def need(*plans: Plan, rank: int = 0, trains: bool = False) -> int:
    return needed(list(plans), rank, trains=trains, itemsize=4, server_buffer=64 * MIB)


def test_buffers_verification_and_the_staging_of_all_cases_count() -> None:
    verifying = BLOCK * 5
    assert need(plan("mpi")) == 2 * 4 * MIB + verifying
    assert need(plan("mpi"), trains=True) == 3 * 4 * MIB + verifying
    assert need(plan("ps")) == 2 * 4 * MIB + verifying + 3 * 4 * MIB  # one slot for each worker
    assert need(plan("ps"), rank=1) == 2 * 4 * MIB + verifying  # it receives no more than the sum
    assert need(plan("ps"), plan("sharded-ps"), plan("ring")) == need(plan("ps")) + 3 * MIB  # of a shard each; none
    assert need(plan("mpi", nbytes=4)) == 2 * 4 + 5


def refusals(monkeypatch: pytest.MonkeyPatch, needs: list[int], lefts: list[dict[str, int]]) -> list[str | None]:
    """Return each rank's reason, or None where there is memory."""
    remaining = dict(enumerate(lefts))

    def refusal(world: Any) -> str | None:
        try:
            require_memory(world, needs[world.rank])
        except Unsuitable as reason:
            return str(reason)
        return None

    class Told:
        """`memory_left` does not know who asks: each of the ranks, which are threads, takes one answer."""

        def __call__(self) -> dict[str, int]:
            return remaining.popitem()[1]

    monkeypatch.setattr(memory, "memory_left", Told())
    return on_ranks(len(needs), refusal)


def test_ranks_that_share_a_pool_need_it_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusals(monkeypatch, [GB, GB], [{"here": 2 * GB}] * 2) == [None] * 2
    (reason,) = set(refusals(monkeypatch, [GB, 2 * GB], [{"here": 2 * GB}] * 2))
    assert reason == "rank 0 on n0 has 2 GB of memory left, but the 2 ranks there need 3 GB"


def test_all_ranks_refuse_where_one_has_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    lefts = [{"a": 9 * GB}, {"b": 9 * GB}, {"c": GB // 2, "d": 9 * GB}]
    (reason,) = set(refusals(monkeypatch, [GB] * 3, lefts))
    assert reason is not None
    assert "has 0.5 GB of memory left, but it needs 1 GB" in reason


def test_who_does_not_know_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusals(monkeypatch, [10**15] * 2, [{}, {}]) == [None] * 2
