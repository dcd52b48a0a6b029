"""The recorder sees the phases in order, first begin to last end, and the additions; without it nothing is added."""

from functools import partial
from itertools import chain, count

import numpy as np
import pytest
from fakenetwork import FakeWire, Network
from test_compile import SCHEDULED, Case, in_place, scheduled

from dpbench.devices.cpu import NumpyDevice
from dpbench.engine.compile import Compiler
from dpbench.engine.memory import Buffers
from dpbench.engine.recording import Recorder, Run
from dpbench.engine.steps import Lane, run_lane
from dpbench.engine.survey import Cut
from dpbench.schedule.count import traffic
from dpbench.schedule.round import Round

MIB = 2**20


def took(run: Run, phase: str) -> int:
    entered, left = run.span(phase)
    return left - entered


def case_of(name: str, ranks: int, count: int = 1200, slices: int = 1, lanes: int = 1) -> Case:
    return Case(name, scheduled(name).roles(ranks), Cut(8, lanes, MIB), count, slices)


class Recorded:
    """All ranks of an exchange, each with a clock that ticks when it is read."""

    def __init__(self, case: Case, times_additions: bool = True) -> None:
        self.case = case
        self.network = Network(seed=1)
        self.recorders = [Recorder(times_additions, count().__next__) for _ in range(case.roles.ranks)]
        self.outputs = [NumpyDevice().empty(case.count, "int64") for _ in self.recorders]
        self.lanes = [self.compiled(rank, recorder) for rank, recorder in enumerate(self.recorders)]

    def compiled(self, rank: int, recorder: Recorder | None) -> tuple[FakeWire, list[Lane]]:
        wire = FakeWire(rank, self.network)
        gradient = np.full(self.case.count, rank + 1, dtype=np.int64)
        buffers = Buffers(in_place(gradient), in_place(self.outputs[rank]))
        compiler = Compiler(wire, NumpyDevice(), buffers, "int64", self.case.cut, recorder=recorder)  # type: ignore[arg-type]
        return wire, compiler.lanes(partial(self.case.rounds, rank), self.case.slices)

    def exchange(self) -> None:
        for recorder in self.recorders:
            recorder.begin()
        self.network.run([run_lane(lane, wire) for wire, lanes in self.lanes for lane in lanes])  # type: ignore[arg-type]
        ranks = self.case.roles.ranks
        for output in self.outputs:
            assert output.tolist() == [ranks * (ranks + 1) // 2] * self.case.count


@pytest.mark.parametrize("name", SCHEDULED)
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_every_rank_sees_the_phases_of_its_rounds_in_order(name: str, ranks: int) -> None:
    recorded = Recorded(case_of(name, ranks))
    recorded.exchange()
    for rank, recorder in enumerate(recorded.recorders):
        expected = list(traffic(recorded.case.rounds(rank, 0), 8))
        assert list(recorder.run.begun) == list(recorder.run.ended) == expected


@pytest.mark.parametrize("name", SCHEDULED)
def test_the_phases_of_one_slice_leave_no_time_between_them(name: str) -> None:
    recorded = Recorded(case_of(name, 4))
    recorded.exchange()
    for recorder in recorded.recorders:
        first, second = recorder.run.begun
        assert recorder.run.ended[first] == recorder.run.begun[second]
        last = recorder.clock() - 1  # the first reading was 0
        assert took(recorder.run, first) + took(recorder.run, second) == last


def test_a_ring_adds_once_in_each_step_of_its_reduce_scatter() -> None:
    recorded = Recorded(case_of("ring", 4))
    recorded.exchange()
    for recorder in recorded.recorders:
        run = recorder.run
        assert (took(run, "reduce-scatter"), run.adding, took(run, "all-gather")) == (7, 3, 1)


def test_a_master_adds_every_gradient_while_it_is_pushed_to() -> None:
    recorded = Recorded(case_of("ps", 4))
    recorded.exchange()
    master, *workers = [recorder.run for recorder in recorded.recorders]
    assert (took(master, "push"), master.adding, took(master, "pull")) == (7, 3, 1)
    assert [(took(run, "push"), run.adding, took(run, "pull")) for run in workers] == [(1, 0, 1)] * 3


def test_additions_that_a_call_only_begins_are_not_timed() -> None:
    recorded = Recorded(case_of("ps", 4), times_additions=False)
    recorded.exchange()
    run = recorded.recorders[0].run
    assert (took(run, "push"), run.adding, took(run, "pull")) == (1, 0, 1)


def test_overlapping_lanes_give_the_first_begin_and_the_last_end() -> None:
    times = iter([10, 20, 30, 45, 50, 70])
    recorder = Recorder(False, times.__next__)
    rounds = [Round("push"), Round("push"), Round("pull")]
    one, other = ([step.before[0] for step in recorder.steps(rounds, lambda _: None)] for _ in range(2))
    recorder.begin()
    for call in (one[0], other[0], one[1], other[1], one[2], other[2]):
        call()
    assert (took(recorder.run, "push"), took(recorder.run, "pull")) == (45 - 10, 70 - 30)


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("name", SCHEDULED)
def test_phases_of_several_slices_span_almost_everything(name: str, lanes: int) -> None:
    recorded = Recorded(case_of(name, 3, slices=4, lanes=lanes), times_additions=False)
    recorded.exchange()
    for recorder in recorded.recorders:
        first, second = recorder.run.begun
        whole = recorder.clock() - 1
        assert (recorder.run.begun[first], recorder.run.ended[second]) == (0, whole)
        assert took(recorder.run, first) + took(recorder.run, second) > whole


def test_the_first_phase_begins_and_the_last_one_ends_with_the_sample() -> None:
    recorded = Recorded(case_of("ring", 3, slices=4, lanes=2), times_additions=False)
    recorded.exchange()
    recorder = recorded.recorders[0]
    begun, ended = dict(recorder.run.begun), dict(recorder.run.ended)
    recorder.close(-5, 1000)
    assert recorder.run.span("all-gather") == (begun["all-gather"] + 5, 1005)
    assert recorder.run.begun == begun | {"reduce-scatter": -5}
    assert recorder.run.ended == ended | {"all-gather": 1000}


def test_what_is_computed_ahead_leaves_no_time_before_the_exchange() -> None:
    recorder = Recorder(False, iter([10, 50, 70]).__next__)
    lane = [step.before[0] for step in recorder.steps([Round("push")], lambda _: None)]
    recorder.begin()
    for call in (recorder.leading("compute", lambda: None), *lane):
        call()
    recorder.close(9, 75)
    assert (recorder.run.span("compute"), recorder.run.span("push")) == ((0, 41), (41, 66))


def test_what_is_computed_ahead_of_nothing_lasts_to_the_end() -> None:
    recorder = Recorder(False, iter([10]).__next__)
    recorder.begin()
    recorder.leading("compute", lambda: None)()
    recorder.close(9, 75)
    assert recorder.run.span("compute") == (0, 66)


def test_an_exchange_of_no_rounds_has_no_phases() -> None:
    recorder = Recorder(times_additions=True)
    recorder.begin()
    recorder.close(0, 10)
    assert (list(recorder.steps([], lambda _: None)), recorder.take(1)[0].begun) == ([], {})


def test_each_exchange_has_a_record_and_the_last_ones_are_taken_once() -> None:
    recorded = Recorded(case_of("ring", 2))
    for _ in range(5):
        recorded.exchange()
    recorder = recorded.recorders[0]
    assert [took(run, "all-gather") for run in recorder.take(3)] == [1, 1, 1]
    assert recorder.take(3) == []


@pytest.mark.parametrize("name", SCHEDULED)
def test_without_a_recorder_no_step_and_no_call_is_added(name: str) -> None:
    recorded = Recorded(case_of(name, 4))
    _, watched = recorded.lanes[0]
    _, plain = recorded.compiled(0, None)
    assert len(watched[0].steps) == len(plain[0].steps) + 3
    for step in plain[0].steps:
        done = [transfer.done for transfer in chain(*step.chains)]
        assert Recorder.add not in [getattr(call, "func", None) for call in (*step.before, *step.after, *done)]
