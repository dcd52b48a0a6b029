"""Compiling for thousands of ranks is quick and small, and what is compiled gives the sum in any order of arrival."""

import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
from fakenetwork import FakeWire, Network
from hypothesis import given, settings
from hypothesis import strategies as drawn

from dpbench.devices.cpu import NumpyDevice
from dpbench.engine import survey
from dpbench.engine.compile import Compiler
from dpbench.engine.memory import Buffers, Place, Weights
from dpbench.engine.slicing import slicing
from dpbench.engine.steps import Step, run_lane
from dpbench.engine.survey import IN_FLIGHT, SMALLEST_STAGING, Cut
from dpbench.measure.memory import staged
from dpbench.measure.plan import Plan, messages_of
from dpbench.schedule.partition import part
from dpbench.schedule.round import Round
from dpbench.strategies.base import Roles, Scheduled
from dpbench.strategies.registry import strategies

SCHEDULED = [name for name, strategy in strategies().items() if isinstance(strategy, Scheduled)]
KIB, MIB = 2**10, 2**20


def scheduled(name: str) -> Scheduled:
    strategy = strategies()[name]
    assert isinstance(strategy, Scheduled)
    return strategy


def in_place(array: Any) -> Place:
    return Place(array, array)


class Paper(NumpyDevice):
    """A device whose arrays are ranges: nothing is allocated, but counted."""

    def __init__(self) -> None:
        self.bytes = 0

    def empty(self, count: int, dtype: str) -> Any:
        self.bytes += count * np.dtype(dtype).itemsize
        return range(count)

    def address(self, array: Any) -> int:
        return 0


class Case(NamedTuple):
    """What all ranks compile alike."""

    name: str
    roles: Roles
    cut: Cut
    count: int
    slices: int = 1
    trains: bool = False

    def rounds(self, rank: int, index: int) -> Iterator[Round]:
        strategy = scheduled(self.name)
        describe = strategy.step if self.trains else strategy.rounds
        return describe(rank, self.roles, *part(0, self.count, self.slices, index))


class Compiled:
    """One rank's lanes, and what compiling them took."""

    def __init__(
        self, case: Case, rank: int, wire: FakeWire, buffers: Buffers | None = None, device: Any = None
    ) -> None:
        self.wire = wire
        self.device = device or Paper()
        self.buffers = buffers or Buffers(in_place(range(case.count)), in_place(range(case.count)))
        compiler = Compiler(wire, self.device, self.buffers, f"int{8 * case.cut.itemsize}", case.cut)  # type: ignore[arg-type]
        self.lanes = compiler.lanes(partial(case.rounds, rank), case.slices)

    def start(self) -> list[Iterator[None]]:
        return [run_lane(lane, self.wire) for lane in self.lanes]  # type: ignore[arg-type]


def on_paper(case: Case, rank: int) -> Compiled:
    return Compiled(case, rank, FakeWire(rank, Network(seed=0)))


def auto(name: str, roles: Roles, nbytes: int) -> tuple[int, int]:
    strategy = scheduled(name)
    messages = max(messages_of(strategy, roles, rank, nbytes // 4) for rank in (0, roles.ranks - 1))
    return slicing(nbytes, strategy.pieces(roles), messages, strategy.overlap(roles), slices=None, window=None)


@pytest.mark.parametrize(("nbytes", "rank"), [(4 * KIB, 0), (64 * MIB, 0), (64 * MIB, 1)])
@pytest.mark.parametrize("dedicated", [False, True])
@pytest.mark.parametrize("name", SCHEDULED)
def test_compiling_for_2048_ranks_takes_under_2_s_and_64_mib(
    name: str, dedicated: bool, nbytes: int, rank: int
) -> None:
    roles = scheduled(name).roles(2048, dedicated=dedicated)
    slices, window = auto(name, roles, nbytes)
    case = Case(name, roles, Cut(4, window, 64 * MIB), nbytes // 4, slices)
    begin = time.process_time()
    on_paper(case, rank)
    assert time.process_time() - begin < 2
    tracemalloc.start()
    try:
        compiled = on_paper(case, rank)
        assert tracemalloc.get_traced_memory()[1] < 64 * MIB
    finally:
        tracemalloc.stop()
    assert compiled.device.bytes <= 64 * MIB
    assert compiled.wire.live == compiled.wire.asked == len(compiled.wire.made) <= 16_384


def test_a_master_of_thousands_still_overlaps_slices() -> None:
    assert auto("ps", scheduled("ps").roles(2048), 64 * MIB) == (4, 2)
    assert auto("ps", scheduled("ps").roles(16), 64 * MIB) == (256, 2)


def test_what_would_exceed_the_persistent_requests_is_made_anew() -> None:
    roles = scheduled("ps").roles(2048)
    compiled = on_paper(Case("ps", roles, Cut(4, 1, 64 * MIB), 4096, slices=5), rank=0)
    assert compiled.wire.asked == 5 * 2 * 2047
    assert compiled.wire.live == 0


cuts = drawn.builds(
    Cut, drawn.sampled_from([1, 2, 4, 8]), drawn.integers(1, 5), drawn.integers(1, 2**18) | drawn.just(64 * MIB)
)


@given(drawn.sampled_from(SCHEDULED), cuts, drawn.integers(1, 40), drawn.integers(0, 10**6), drawn.booleans())
@settings(max_examples=60, deadline=None)
def test_staging_stays_within_the_server_buffer(name: str, cut: Cut, ranks: int, count: int, dedicated: bool) -> None:
    roles = scheduled(name).roles(ranks, dedicated=dedicated and ranks > 1)
    compiled = on_paper(Case(name, roles, cut, count, slices=5), rank=0)
    assert compiled.device.bytes <= max(cut.server_buffer, cut.lanes * SMALLEST_STAGING)


@given(drawn.sampled_from(SCHEDULED), cuts, drawn.integers(1, 40), drawn.integers(0, 10**6), drawn.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_staging_that_is_asked_for_in_advance_is_what_is_allocated(
    name: str, cut: Cut, ranks: int, count: int, slices: int
) -> None:
    roles = scheduled(name).roles(ranks)
    plan = Plan(name, "cpu", count * cut.itemsize, count, roles, slices, cut.lanes)
    for rank in {0, ranks - 1}:
        compiled = on_paper(Case(name, roles, cut, count, slices), rank)
        assert staged(plan, rank, False, cut) == compiled.device.bytes


@pytest.mark.parametrize("name", SCHEDULED)
@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("rank", [0, 4])
def test_tags_tell_apart_lanes_and_the_pieces_of_a_message(name: str, lanes: int, rank: int) -> None:
    cut = Cut(8, lanes, lanes * SMALLEST_STAGING)
    compiled = on_paper(Case(name, scheduled(name).roles(5), cut, 100_000, slices=7), rank)
    lanes_of_tag = defaultdict(set)
    pieces = defaultdict(list)
    for lane, (steps, *_) in enumerate(compiled.lanes):
        for number, step in enumerate(steps):
            for request in requests_of(step):
                assert 0 <= request.tag <= 32767
                lanes_of_tag[request.tag].add(lane)
                pieces[lane, number, request.kind, request.peer].append(request.tag)
    assert all(len(lanes) == 1 for lanes in lanes_of_tag.values())
    assert max(map(len, pieces.values())) > 1
    assert all(len(set(tags)) == len(tags) for tags in pieces.values())


def requests_of(step: Step) -> list[Any]:
    return [*step.requests, *(transfer.request for chain in step.chains for transfer in chain)]


class Job:
    """All ranks of an exchange on one network; the gradient of rank r at place i is (r + 1) * (i + 1)."""

    def __init__(self, case: Case, persistent: int = 16_384, seed: int = 0) -> None:
        self.workers = case.roles.workers
        self.network = Network(seed)
        self.place = np.arange(1, case.count + 1, dtype=np.int64)
        device = NumpyDevice()
        self.ranks = [
            Compiled(
                case,
                rank,
                FakeWire(rank, self.network, persistent),
                self.buffers(rank, device),
                device,
            )
            for rank in range(case.roles.ranks)
        ]

    def buffers(self, rank: int, device: NumpyDevice) -> Buffers:
        weights = 7 * self.place
        gradient, output = (rank + 1) * self.place, device.empty(len(self.place), "int64")
        return Buffers(in_place(gradient), in_place(output), Weights(weights, weights, rate=2))

    def train(self, steps: int) -> None:
        """Make training steps and compare every worker's weights with what they must be."""
        for _ in range(steps):
            self.network.run([lane for rank in self.ranks for lane in rank.start()])
        right = (7 - steps * 2 * sum(worker + 1 for worker in self.workers)) * self.place
        for worker in self.workers:
            weights = self.ranks[worker].buffers.weights
            assert weights is not None
            assert weights.array.tolist() == right.tolist()

    def exchange(self) -> None:
        """Exchange and compare every worker's output with the sum."""
        for rank in self.ranks:
            rank.buffers.output.array.fill(-1)
        self.network.run([lane for rank in self.ranks for lane in rank.start()])
        total = sum(worker + 1 for worker in self.workers) * self.place
        for worker in self.workers:
            assert self.ranks[worker].buffers.output.array.tolist() == total.tolist()


@drawn.composite
def jobs(draw: Callable[..., Any], trains: bool = False) -> Job:
    name = draw(drawn.sampled_from(SCHEDULED))
    ranks = draw(drawn.integers(1, 7))
    dedicated = ranks > 1 and draw(drawn.booleans())
    servers = draw(drawn.none() | drawn.integers(1, ranks - dedicated))
    roles = scheduled(name).roles(ranks, servers, dedicated)
    slices = draw(drawn.integers(1, 6))
    cut = Cut(8, draw(drawn.integers(1, slices)), draw(drawn.sampled_from([1, 10 * KIB, MIB])))
    count = draw(drawn.integers(0, 8) | drawn.integers(0, 3000))
    persistent = draw(drawn.sampled_from([0, 16_384]))
    return Job(Case(name, roles, cut, count, slices, trains), persistent, seed=draw(drawn.integers(0, 2**32)))


@given(jobs())
@settings(max_examples=100, deadline=None)
def test_every_worker_gets_the_sum_in_whatever_order_messages_arrive(job: Job) -> None:
    job.exchange()
    job.exchange()  # nothing is left over from the first


@given(jobs(trains=True))
@settings(max_examples=50, deadline=None)
def test_every_workers_weights_are_updated_once_a_step(job: Job) -> None:
    job.train(steps=3)


@given(drawn.sampled_from(SCHEDULED), drawn.integers(0, 2**32), drawn.sampled_from([0, 16_384]))
@settings(max_examples=30, deadline=None)
def test_messages_above_the_largest_are_split(name: str, seed: int, persistent: int) -> None:
    with mock.patch.object(survey, "LARGEST_MESSAGE", 1000):
        job = Job(Case(name, scheduled(name).roles(3), Cut(8, 2, MIB), 2000, slices=3), persistent, seed)
        assert max(request.nbytes for rank in job.ranks for request in rank.wire.made) <= 1000
        job.exchange()


@pytest.mark.parametrize("dedicated", [False, True])
@pytest.mark.parametrize("persistent", [0, 16_384])
@pytest.mark.parametrize("name", SCHEDULED)
def test_a_rank_has_a_bounded_number_of_transfers_under_way(name: str, persistent: int, dedicated: bool) -> None:
    roles = scheduled(name).roles(40, dedicated=dedicated)
    job = Job(Case(name, roles, Cut(8, 1, MIB), 4000, slices=3), persistent)
    job.exchange()
    for rank in job.ranks:
        assert all(most <= IN_FLIGHT for most in rank.wire.most_posted.values())


def test_a_small_buffer_lets_a_master_receive_from_one_worker_at_a_time() -> None:
    job = Job(Case("ps", scheduled("ps").roles(6), Cut(8, 1, SMALLEST_STAGING), 512))
    job.exchange()
    assert job.ranks[0].wire.most_posted["recv"] == 1
    assert job.ranks[0].wire.most_posted["send"] == 5
