"""A phase lasts until the last rank has left it; bytes, ports and rates have their closed forms."""

from dataclasses import replace
from typing import Any

import pytest
from test_compile import scheduled
from test_report import FACTS, row
from threadedworld import ThreadedWorld, on_ranks

from dpbench.engine.recording import Recorder, Run
from dpbench.measure.breakdown import breakdown
from dpbench.measure.case import Case
from dpbench.measure.phases import Phases, tell
from dpbench.measure.plan import Plan
from dpbench.results.link import Link
from dpbench.results.phases import Breakdown, Port, all_rows
from dpbench.results.record import Row
from dpbench.schedule.round import Recv, Round, Send, Update

S = 4800  # bytes
LINK = Link(latency_s=50e-6, one_way=1e9, rank=1e9, node=2e9, addition=1e10)


def run_of(push: int, pull: int, adding: int = 0) -> Run:
    return Run({"push": 100, "pull": 100 + push}, {"push": 100 + push, "pull": 100 + push + pull}, adding, start=100)


def phases_of(name: str, ranks: int, *, dedicated: bool = False, nodes: int = 1, timed: bool = True) -> Phases:
    """The phases of S bytes as rank 0 has them; ranks dealt to nodes in blocks."""
    roles = scheduled(name).roles(ranks, dedicated=dedicated)
    places = [list(range(ranks))[n * ranks // nodes : (n + 1) * ranks // nodes] for n in range(nodes)]
    told = [
        tell(list(scheduled(name).rounds(rank, roles, 0, S // 4)), 4, next(p for p in places if rank in p))
        for rank in range(ranks)
    ]
    return Phases(told, roles, places, Recorder(timed))


def reported(phases: Phases, link: Link | None = None, **values: Any) -> Breakdown:
    """What is reported of them, for a row of S bytes."""
    plan = Plan("ps", "cpu", S, S // 4, phases.roles)
    facts = replace(FACTS, links={"cpu": link} if link else {})
    ranks = phases.roles.ranks
    defaults = {"bytes": S, "ranks": ranks, "workers": len(phases.roles.workers), "nodes": len(phases.nodes)}
    return breakdown(Case(plan, "", phases=phases), row("ps", 9e-6, **{**defaults, **values}), facts)


def measured(phases: Phases, **medians: list[float]) -> Phases:
    """Give the phases samples, twice the first rank's median."""
    for name, values in medians.items():
        phases.samples[name] = [values[0]] * 2
        phases.medians[name] = values
    return phases


def test_a_phase_lasts_until_the_last_rank_has_left_it() -> None:
    runs = [
        [run_of(5, 5, 2), run_of(1, 1), run_of(3, 3, 1)],  # the master
        [run_of(1, 8), run_of(2, 4), run_of(3, 4)],
        [run_of(2, 9), run_of(6, 0), run_of(1, 1)],
    ]

    def rank(world: ThreadedWorld) -> Phases:
        phases = phases_of("ps", 3)
        phases.recorder.runs = [run_of(100, 100), *runs[world.rank]]  # a warm-up before
        phases.add(world, 3)  # type: ignore[arg-type]
        phases.finish(world)  # type: ignore[arg-type]
        return phases

    for phases in on_ranks(3, rank):
        assert phases.samples["push"] == pytest.approx([5e-9, 6e-9, 3e-9])
        assert phases.samples["pull"] == pytest.approx([6e-9, 0, 4e-9])  # the samples took 11, 6 and 7
        assert phases.samples["aggregate"] == pytest.approx([2e-9, 0, 1e-9])
        assert phases.medians["push"] == pytest.approx([3e-9, 2e-9, 2e-9])
        assert phases.medians["aggregate"] == pytest.approx([1e-9, 0, 0])


def test_a_master_that_is_done_when_its_bytes_are_on_the_way_does_not_end_the_pull() -> None:
    def rank(world: ThreadedWorld) -> Phases:
        phases = phases_of("ps", 3)
        phases.recorder.runs = [run_of(100, 1) if world.rank == 0 else run_of(1, 199)]
        phases.add(world, 1)  # type: ignore[arg-type]
        return phases

    for phases in on_ranks(3, rank):
        assert phases.samples["push"] == pytest.approx([100e-9])
        assert phases.samples["pull"] == pytest.approx([100e-9])


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("ps", ["push", "aggregate", "pull"]),
        ("sharded-ps", ["push", "aggregate", "pull"]),
        ("ring", ["reduce-scatter", "additions", "all-gather"]),
    ],
)
def test_additions_stand_after_the_phase_that_they_are_part_of(name: str, names: list[str]) -> None:
    assert phases_of(name, 4).names == names
    assert [phase.within for phase in reported(phases_of(name, 4)).phases] == [False, True, False]


def test_one_rank_has_phases_that_send_nothing_and_no_additions() -> None:
    assert phases_of("ps", 1).names == ["push", "pull"]
    assert phases_of("ring", 1).names == ["reduce-scatter"]
    found = reported(measured(phases_of("ps", 1), push=[1e-6], pull=[0.0])).phases
    assert [(phase.row.total_bytes, phase.row.algbw_GB_per_s) for phase in found] == [(0, None), (0, None)]


def test_an_update_in_a_phase_that_also_sends_leaves_its_bytes_counted() -> None:
    master = Round("push", recvs=(Recv(1, 0, 9, "first"),), local=(Update(0, 9),))
    worker = Round("push", sends=(Send(0, "input", 0, 9),))
    told = [tell([master, Round("update", local=(Update(9, 10),))], 4, {0}), tell([worker], 4, {1})]
    phases = Phases(told, scheduled("ps").roles(2), [[0], [1]], Recorder(True))
    found = {each.row.operation: each.row.total_bytes for each in reported(phases).phases}
    assert found == {"push": 36, "aggregate": None, "update": None}


def test_a_master_takes_every_gradient_in_and_gives_the_sum_out_to_all() -> None:
    push, aggregate, pull = reported(
        measured(phases_of("ps", 4), push=[6e-6, 2e-6, 3e-6, 2e-6], pull=[3e-6, 4e-6, 5e-6, 6e-6])
    ).phases
    assert push.busiest == Port(0, sent=0, received=3 * S, crossing=0, seconds=6e-6)
    assert push.worker == Port(2, sent=S, received=0, crossing=0, seconds=6e-6)
    assert pull.busiest == Port(0, sent=3 * S, received=0, crossing=0, seconds=3e-6)
    assert (push.busiest.rate_in, push.busiest.rate_out) == (pytest.approx(3 * S / 6e-6 / 1e9), 0)
    assert (push.least_s, push.most_s) == (2e-6, 6e-6)
    assert (aggregate.busiest, aggregate.worker, aggregate.row.total_bytes) == (None, None, None)


def test_a_rings_ports_are_all_alike() -> None:
    found = reported(phases_of("ring", 4)).phases
    for phase in (found[0], found[2]):
        assert phase.busiest is not None
        assert phase.busiest[1:3] == (3 * S // 4, 3 * S // 4)
        assert (phase.row.total_bytes, phase.row.busiest_rank_bytes) == (3 * S, 3 * S // 4)


def test_a_worker_that_does_not_serve_stands_for_the_workers() -> None:
    push = reported(phases_of("sharded-ps", 5, dedicated=True)).phases[0]
    assert push.worker is not None
    assert push.worker[:3] == (3, S, 0)
    assert reported(phases_of("ps", 2)).phases[0].worker == Port(1, S, 0, 0, None)


def test_the_share_of_the_link_counts_what_crosses_between_nodes() -> None:
    found = reported(measured(phases_of("ps", 4, nodes=2), push=[2 * S / 1e9] * 4), LINK)
    push = found.phases[0]
    assert push.busiest is not None
    assert push.busiest.crossing == 2 * S
    assert push.busiest.share(LINK.rank) == pytest.approx(1)
    assert (push.row.busiest_node_bytes, found.crossing_bytes) == (2 * S, 4 * S)
    assert (found.link, push.row.limit_s, push.row.limit_fraction) == (1e9, None, None)


def test_a_phases_row_is_its_strategys_with_its_own_times_and_bytes() -> None:
    found = reported(measured(phases_of("ps", 4), push=[6e-6] * 4, aggregate=[1e-6] * 4, pull=[3e-6] * 4))
    rows = list(all_rows([found, Breakdown(row=row("mpi"))]))
    assert [each.operation for each in rows] == ["allreduce", "push", "aggregate", "pull", "allreduce"]
    main, push, aggregate, *_ = rows
    assert (push.time_median_s, push.time_min_s, push.time_ci_low_s) == (6e-6, 6e-6, None)
    assert push.algbw_GB_per_s == pytest.approx(S / 6e-6 / 1e9)
    assert (push.total_bytes, push.busiest_rank, push.busiest_rank_bytes) == (3 * S, 0, 3 * S)
    assert {each.busbw_GB_per_s for each in rows[1:4]} == {None}
    assert (aggregate.time_median_s, aggregate.busiest_rank, aggregate.busiest_rank_bytes) == (1e-6, None, None)
    own = ("operation", "time_", "algbw", "busbw", "total", "busiest", "limit")
    shared = [name for name in vars(main) if not name.startswith(own)]
    assert {name: getattr(push, name) for name in shared} == {name: getattr(main, name) for name in shared}


def test_a_wrong_result_has_phases_with_bytes_and_no_times() -> None:
    phases = measured(phases_of("ps", 4), push=[6e-6] * 4, aggregate=[1e-6] * 4, pull=[3e-6] * 4)
    found = reported(phases, time_median_s=None, algbw_GB_per_s=None, quality="invalid")
    assert {phase.row.time_median_s for phase in found.phases} == {None}
    assert {phase.row.algbw_GB_per_s for phase in found.phases} == {None}
    assert found.phases[0].row.total_bytes == 3 * S


def test_additions_on_a_queue_have_no_time() -> None:
    phases = phases_of("ps", 4, timed=False)
    assert phases.timed == ["push", "pull"]
    aggregate: Row = reported(measured(phases, push=[6e-6] * 4, pull=[3e-6] * 4)).phases[1].row
    assert (aggregate.operation, aggregate.time_median_s, aggregate.time_max_s) == ("aggregate", None, None)
