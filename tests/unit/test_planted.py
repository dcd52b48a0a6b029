"""The faults that tests plant are due when they say."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from dpbench import hooks
from dpbench.measure.planted import Planted, busy


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    done: list[str] = []
    monkeypatch.setenv(hooks.VARIABLE, "slow@1:ring:2=0.5,delay@1:ring:2=0")
    monkeypatch.setattr("dpbench.measure.planted.busy", lambda seconds: done.append(f"late {seconds}"))
    hooks.hooks.cache_clear()
    yield done
    hooks.hooks.cache_clear()


def exchanges(rank: int, done: list[str]) -> None:
    faults = Planted(rank, 2)
    for strategy in ("ps", "ring", "ps", "ring", "ring"):
        case: Any = SimpleNamespace(
            plan=SimpleNamespace(strategy=strategy), running=SimpleNamespace(run=lambda: done.append("ran"))
        )
        faults.plant(case)
        case.running.run()


def test_what_lasts_is_due_from_its_iteration_on(planted: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    exchanges(1, planted)
    assert planted == ["ran", "ran", "ran", "late 0.5", "ran", "late 0.5", "ran"]
    assert capfd.readouterr().err.count("planted") == 1  # of the delay, for what lasts would tell too often


def test_another_rank_is_left_alone(planted: list[str]) -> None:
    exchanges(0, planted)
    assert planted == ["ran"] * 5


def test_a_busy_core_takes_its_time() -> None:
    from time import perf_counter

    begin = perf_counter()
    busy(0.002)
    assert perf_counter() - begin >= 0.002
