"""The watchdog: what stands still is ended and named, what moves is left alone."""

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from fakenetwork import FakeWire, Network

from dpbench.devices.cpu import NumpyDevice
from dpbench.engine import watchdog
from dpbench.engine.compile import Compiler
from dpbench.engine.memory import Buffers, allocate
from dpbench.engine.recording import Recorder
from dpbench.engine.standing import Labels, Outlook, waits_for
from dpbench.engine.steps import run_lane
from dpbench.engine.survey import Cut
from dpbench.engine.watchdog import Watchdog, pause
from dpbench.engine.where import Where
from dpbench.schedule.partition import part
from dpbench.schedule.round import Round
from dpbench.strategies.registry import strategies

COUNT, SLICES = 64, 4


class Rank:
    """One rank whose peers never answer, unless `network` moves messages."""

    def __init__(self, name: str, rank: int, ranks: int, lanes: int = 1, recorder: Recorder | None = None) -> None:
        strategy: Any = strategies()[name]
        roles = strategy.roles(ranks)

        def rounds(index: int) -> Iterator[Round]:
            return strategy.rounds(rank, roles, *part(0, COUNT, SLICES, index))

        device = NumpyDevice()
        wire: Any = FakeWire(rank, Network(seed=0))
        buffers = Buffers(allocate(device, COUNT, "float32"), allocate(device, COUNT, "float32"))
        compiler = Compiler(wire, device, buffers, "float32", Cut(4, lanes, 2**20), recorder=recorder)
        self.lanes = compiler.lanes(rounds, SLICES)
        ends = list(zip(compiler.requests, compiler.ends, strict=True))
        self.outlook = Outlook(self.lanes, ends, Labels(rounds, SLICES, lanes, recorder))
        pairs = zip(self.lanes, self.outlook.standings, strict=True)
        self.running = [run_lane(lane, wire, standing) for lane, standing in pairs]


def test_a_rank_that_waits_is_told_by_slice_round_phase_and_peer() -> None:
    ring = Rank("ring", rank=2, ranks=4)
    assert ring.outlook.text(asks_mpi=False) == "has not begun its first round"
    next(ring.running[0])
    assert ring.outlook.text(asks_mpi=False) == (
        "slice 1 of 4, round 1 (reduce-scatter) waits for rank 1 to send and rank 3 to receive"
    )


def test_of_several_lanes_the_one_with_the_lowest_slice_is_told() -> None:
    server = Rank("ps", rank=0, ranks=3, lanes=2)
    next(server.running[1])
    assert server.outlook.text(asks_mpi=False).startswith("slice 2 of 4, round 1 (push) waits for ranks 1, 2 to send")
    next(server.running[0])
    assert server.outlook.text(asks_mpi=False).startswith("slice 1 of 4, round 1 (push) waits for ranks 1, 2 to send")


@pytest.mark.parametrize("name", ["ps", "sharded-ps", "ring"])
@pytest.mark.parametrize("recorder", [None, Recorder(times_additions=False)], ids=["plain", "recorded"])
def test_every_step_has_the_label_of_its_round(name: str, recorder: Recorder | None) -> None:
    rank = Rank(name, rank=1, ranks=3, lanes=2, recorder=recorder)
    for lane, made in enumerate(rank.lanes):
        for index, step in enumerate(made.steps):
            assert rank.outlook.labels is not None
            label = rank.outlook.labels.label(lane, index)
            sends = bool(step.requests or step.chains or step.after)
            assert (label is not None) == sends
            assert label is None or (label.slice - 1) % 2 == lane


def test_mpi_tells_which_peers_are_missing() -> None:
    ring = Rank("ring", rank=2, ranks=4)
    next(ring.running[0])
    step = ring.lanes[0].steps[0]
    for request in step.requests:
        request.Get_status = lambda kind=request.kind: kind == "send"
    assert ring.outlook.text(asks_mpi=True) == "slice 1 of 4, round 1 (reduce-scatter) waits for rank 1 to send"
    for request in step.requests:
        request.Get_status = lambda: True
    assert ring.outlook.text(asks_mpi=True) == "slice 1 of 4, round 1 (reduce-scatter) works on what it has"


def test_many_peers_are_not_all_named() -> None:
    assert waits_for([("recv", 1), ("send", 2)], numbers=[0, 4, 8]) == "rank 4 to send and rank 8 to receive"
    assert waits_for([("recv", peer) for peer in range(20)]) == "ranks 0, 1, 2, 3, 4, 5, 6, 7, ... to send"


PATIENCE_S = 0.1


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "GRACE_S", 0.3)
    monkeypatch.setattr(watchdog, "LAST_WORDS_S", 0.01)
    monkeypatch.setattr(watchdog, "ANSWER_S", 0.01)


def exchange(progress: Callable[[], Any] | None) -> Any:
    if progress is None:
        return SimpleNamespace(outlook=None)
    outlook = SimpleNamespace(progress=progress, fraction=lambda: 0.0, text=lambda asks_mpi: "stands")
    return SimpleNamespace(outlook=outlook)


def watched(where: Where, seconds: float) -> tuple[list[int], list[str]]:
    ended: list[int] = []
    said: list[str] = []
    with Watchdog(where, said.append, ended.append, said.append):
        time.sleep(seconds)
    return ended, said


def at(state: str, progress: Callable[[], Any] | None = lambda: 0) -> Where:
    where = Where(2, "n3", 4)
    where.enter("ring 4 MiB", exchange(progress), 16, PATIENCE_S)
    where.iteration, where.state = 17, state  # type: ignore[assignment]
    return where


def test_what_stands_still_ends_the_job_and_says_where() -> None:
    ended, said = watched(at("exchange"), 6 * PATIENCE_S)
    assert ended == [4]
    assert said[0].startswith("rank 2 on n3: ring 4 MiB, iteration 17: stands; no progress for 0.1")
    assert said[1:] == ["rank 2 saw no progress"]  # rank 0's last words


def test_a_library_call_does_not_tell() -> None:
    _, said = watched(at("exchange", None), 6 * PATIENCE_S)
    assert "iteration 17: the library call does not return;" in said[0]


def test_what_moves_slowly_does_not_stall() -> None:
    assert watched(at("exchange", lambda: int(time.monotonic() / 0.05)), 6 * PATIENCE_S) == ([], [])


def test_who_waits_for_the_others_speaks_later_than_who_knows_more() -> None:
    assert watched(at("barrier"), 2 * PATIENCE_S) == ([], [])
    ended, said = watched(at("barrier"), 9 * PATIENCE_S)
    assert ended == [4]
    assert "waits for the other ranks to begin" in said[0]


def test_without_a_timeout_nothing_is_watched() -> None:
    where = at("exchange")
    where.patience_s = None
    assert watched(where, 3 * PATIENCE_S) == ([], [])


def test_a_suspended_job_has_not_stood_still(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 100.0, 100.01])
    monkeypatch.setattr(watchdog, "monotonic", lambda: next(times, 100.02))
    assert watched(at("exchange"), 0.7 * PATIENCE_S) == ([], [])


def test_it_looks_once_in_a_while() -> None:
    assert [pause(120), pause(8), pause(2), pause(1)] == [15, 1, 0.5, 0.25]
