"""Some of the ranks at a time: which, with what, what all of them learn of it, and what is told at the end."""

from typing import Any

import pytest
from test_options import parse, refusal
from test_output import kept, report, skipped
from test_report import FACTS, printed, row
from threadedworld import ThreadedWorld, on_ranks

from dpbench.devices.cpu import NumpyDevice
from dpbench.errors import DpbenchError, PlatformError, UsageError
from dpbench.measure.agree import in_part, said_by_root
from dpbench.measure.devices import Chosen
from dpbench.measure.groups import Group, make_groups, rank_counts
from dpbench.measure.options import Options
from dpbench.report.growth import growth
from dpbench.results.phases import Breakdown
from dpbench.schedule.simulate import programs, simulate
from dpbench.strategies.base import Roles
from dpbench.strategies.ring import Ring


class FakeWorld:
    """Four ranks dealt out to two nodes."""

    size = 4
    leaders = (0, 1, 0, 1)

    def host(self, rank: int) -> str:
        return "ab"[self.leaders[rank]]


def groups(**options: Any) -> list[Group]:
    given = Options(command="dpbench", sizes=(4096,), **options)
    return make_groups(FakeWorld(), given, Chosen((NumpyDevice(),)), FACTS)  # type: ignore[arg-type]


def test_without_scaling_all_ranks_are_one_group() -> None:
    (group,) = groups()
    assert (group.facts.ranks, group.facts.members, group.facts.hosts) == (4, (0, 1, 2, 3), ("a", "b"))
    assert (group.facts.per_node, group.facts.ring, group.facts.crossings) == ((2, 2), (0, 2, 1, 3), 2)
    assert [plan.strategy for plan in group.blocks[0]] == ["ps", "sharded-ps", "ring", "mpi"]


@pytest.mark.parametrize(
    ("placement", "members", "hosts", "scope"),
    [("packed", (0, 2), ("a",), "host-memory"), ("spread", (0, 1), ("a", "b"), "network")],
)
def test_each_group_has_its_own_ranks_nodes_and_roles(
    placement: str, members: tuple[int, ...], hosts: tuple[str, ...], scope: str
) -> None:
    few, all_ranks = groups(scaling=(2, 4), placement=placement)
    assert (few.facts.ranks, few.facts.members, few.facts.hosts) == (2, members, hosts)
    assert few.facts.scopes == {"cpu": scope}
    assert {plan.roles.ranks for plan in few.blocks[0] if plan.roles} == {2}
    assert [few.facts.number(rank) for rank in range(2)] == list(members)
    assert (all_ranks.facts.ranks, all_ranks.facts.scopes) == (4, {"cpu": "network"})


def test_the_ring_of_a_plan_counts_the_ranks_of_its_group() -> None:
    (group,) = groups(strategies=("ring",))
    assert group.blocks[0][0].roles == Roles(4, range(4), ring=(0, 2, 1, 3))
    (group,) = groups(strategies=("ring",), ring_order="world")
    assert group.blocks[0][0].roles == Roles(4, range(4), ring=(0, 1, 2, 3))
    assert group.facts.crossings == 4


@pytest.mark.parametrize(
    ("asked", "ranks", "counts"),
    [
        (None, 5, [5]),
        ((2, 3), 4, [2, 3]),
        ("pow2", 2, [2]),
        ("pow2", 8, [2, 4, 8]),
        ("pow2", 12, [2, 4, 8, 12]),
    ],
)
def test_powers_of_2_end_with_all_ranks(asked: tuple[int, ...] | str | None, ranks: int, counts: list[int]) -> None:
    assert rank_counts(asked, ranks) == counts


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scaling": (2, 8)}, "--scaling 8: there are 4 ranks only; start more"),
        ({"scaling": (2, 4), "servers": 4}, "--servers 4 is too many: at most 2"),
        ({"straggler": (4, 1.0)}, "--straggler 4: there is no such rank; they are 0 to 3"),
        ({"straggler": (3, 1.0), "scaling": (2, 4)}, "--straggler 3: that rank does not take part where 2 ranks do"),
    ],
)
def test_what_the_ranks_cannot_do_is_a_usage_error(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        groups(**options)


def test_one_rank_cannot_scale() -> None:
    with pytest.raises(UsageError, match="--scaling pow2: there is 1 rank only"):
        rank_counts("pow2", 1)


def test_numbers_of_ranks_are_read_in_any_order() -> None:
    assert parse("--scaling", "8, 2,4").scaling == (2, 4, 8)
    assert parse("--scaling", "POW2", "--placement", "spread").scaling == "pow2"


@pytest.mark.parametrize("text", ["", "1,2", "0", "-2", "2,2", "a", "2,,4", "2.5", "pow3", "99999999999"])
def test_other_numbers_of_ranks_are_refused(text: str) -> None:
    message = refusal("--scaling", text)
    assert "--scaling" in message
    assert "names 2 twice" in message or "numbers of ranks from 2 on, as 2,4,8, or pow2 alone" in message


def test_a_placement_of_all_ranks_means_nothing() -> None:
    assert "give both" in refusal("--placement", "spread")


@pytest.mark.parametrize("ring", [(0, 2, 1, 3), (0, 3, 1, 2), (2, 0, 3, 1)])
def test_a_ring_in_any_order_leaves_the_sum_everywhere(ring: tuple[int, ...]) -> None:
    roles = Roles(4, range(4), ring=ring)
    plan = programs(lambda rank, lo, hi: Ring().rounds(rank, roles, lo, hi), 4, 10, 2)
    assert not simulate(plan, 10, range(4))
    peers = {(rank, send.peer) for rank in range(4) for rounds in plan[rank] for each in rounds for send in each.sends}
    assert peers == {(ring[place - 1], ring[place]) for place in range(4)}


def on_two_of_three(action: Any) -> list[Any]:
    """Return what comes of an action of the first two of three ranks, on each of the three."""

    def act(world: ThreadedWorld) -> Any:
        part = None if world.rank == 2 else ThreadedWorld(world.rank, 2, world.values, world.barrier)
        try:
            return in_part(world, part, action)  # type: ignore[arg-type]
        except DpbenchError as error:
            return type(error), int(error.code), str(error)

    return on_ranks(3, act)


def test_what_comes_of_a_part_comes_to_all_ranks() -> None:
    assert on_two_of_three(lambda part: [part.rank, part.size]) == [[0, 2]] * 3


def test_an_error_of_a_part_ends_all_ranks_and_one_tells_it() -> None:
    def fail(part: Any) -> None:
        raise said_by_root(part, PlatformError("no links"))

    told = on_two_of_three(fail)
    assert told[0] == (PlatformError, 3, "no links")
    assert [each[1:] for each in told[1:]] == [(3, "")] * 2


def test_an_error_of_one_rank_is_its_own() -> None:
    def fail(part: Any) -> None:
        raise PlatformError("mine")

    part: Any = ThreadedWorld(1, 2, [], None)  # type: ignore[arg-type]
    world: Any = None  # nobody is asked
    with pytest.raises(PlatformError, match="mine"):
        in_part(world, part, fail)


def measured(strategy: str, ranks: int, time: float, limit: float | None, **more: Any) -> Any:
    fraction = limit and limit / time
    return row(strategy, time, ranks=ranks, nodes=ranks, limit_s=limit, limit_fraction=fraction, **more)


def test_the_end_shows_how_times_and_bounds_grow() -> None:
    rows = [
        *(measured(name, 4, time, limit) for name, time, limit in (("ps", 1.0, 0.98), ("mpi", 0.5, None))),
        *(measured(name, 16, time, limit) for name, time, limit in (("ps", 5.1, 4.9), ("mpi", 1.0, None))),
        row("ps", 1e-6, operation="push", ranks=16),
    ]
    assert printed(*growth(rows)).splitlines()[:7] == [
        "4 KiB, scaling       ranks  nodes        time   growth       bound  growth of it",
        "─" * 80,
        "ps                       4      4     1.000 s     1.00    980.0 ms    1.00   98%",
        "                        16     16     5.100 s     5.10     4.900 s    5.00   96%",
        "mpi                      4      4    500.0 ms     1.00         n/a     n/a   n/a",
        "                        16     16     1.000 s     2.00         n/a     n/a   n/a",
        "",
    ]


def test_the_smallest_and_the_largest_size_are_summed_up_and_bounds_only_where_there_are_some() -> None:
    rows = [row("ring", 1.0, ranks=ranks, bytes=size) for size in (4096, 8192, 16384) for ranks in (2, 4)]
    text = printed(*growth(rows))
    assert [size for size in ("4 KiB", "8 KiB", "16 KiB") if f"{size}, scaling" in text] == ["4 KiB", "16 KiB"]
    assert "bound" not in text
    assert not list(growth(rows[:1]))


def test_a_row_without_a_time_has_no_growth() -> None:
    rows = [row("ring", quality="skipped", ranks=2), row("ring", 2.0, ranks=4), row("ring", 3.0, ranks=8)]
    lines = printed(*growth(rows)).splitlines()
    assert [line.split()[-2:] for line in lines[2:5]] == [["skipped", "n/a"], ["2.000", "s", "1.00"][1:], ["s", "1.50"]]


def test_a_stopped_run_marks_the_same_size_of_other_numbers_of_ranks(tmp_path: Any, capsys: Any) -> None:
    out = report(tmp_path / "out.csv", scaling=(2, 4))
    out.size([Breakdown(row=row("ring", 1e-5, ranks=2))])
    out.stop("stopped by SIGTERM", [Breakdown(row=row("ring", ranks=2, quality="skipped")), *skipped(4096)])
    assert kept(tmp_path / "out.csv") == [("4096", "ok"), ("4096", "skipped"), ("4096", "skipped")]
    assert "incomplete: stopped by SIGTERM, 1 of 2 sizes measured" in capsys.readouterr().out
