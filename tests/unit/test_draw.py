"""What is drawn of a schedule, against the textbook in closed form."""

from collections.abc import Iterator

import pytest
from plans import plan_of, ring

from dpbench.schedule.count import Traffic
from dpbench.schedule.draw import Change, Copied, Drawing, Message, draw, plan_within
from dpbench.schedule.round import Copy, Recv, Round, Send
from dpbench.strategies.base import Scheduled
from dpbench.strategies.registry import strategies

RANKS = range(1, 10)
SCHEDULED = [name for name, one in strategies().items() if isinstance(one, Scheduled)]


def drawing(name: str, ranks: int, servers: int | None = None, dedicated: bool = False) -> Drawing:
    """A strategy's drawing, of gradients that can be cut evenly."""
    roles = strategies()[name].roles(ranks, servers, dedicated)
    count = 2520 if servers is None else ranks * servers
    return draw(plan_of(name, roles, count), count, roles.workers, roles.servers)


def snapshots(one: Drawing) -> list[list[list[int]]]:
    return [[row[:] for row in held] for held in one.states()]


def mask(ranks: Iterator[int] | range) -> int:
    return sum(1 << rank for rank in ranks)


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_each_step_of_a_ring_passes_one_chunk_to_the_right(ranks: int) -> None:
    steps = ranks - 1
    one = draw(ring(ranks, ranks), ranks, range(ranks))
    assert one.chunks == tuple((chunk, chunk + 1) for chunk in range(ranks))
    assert [round_.phases for round_ in one.rounds] == [("reduce-scatter",)] * steps + [("all-gather",)] * steps
    for s, round_ in enumerate(one.rounds):
        first, op = (-s, "first") if s < steps else (1 - (s - steps), "replace")
        expected = {
            Message(rank, (rank + 1) % ranks, range(chunk, chunk + 1), 1, op)  # type: ignore[arg-type]
            for rank in range(ranks)
            for chunk in [(rank + first) % ranks]
        }
        assert set(round_.messages) == expected
        assert len(round_.messages) == ranks


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_a_ring_completes_one_chunk_of_each_rank_then_all(ranks: int) -> None:
    steps, everyone = ranks - 1, (1 << ranks) - 1
    states = snapshots(draw(ring(ranks, ranks), ranks, range(ranks)))
    assert states[0] == [[1 << rank] * ranks for rank in range(ranks)]
    for s in range(1, steps + 1):
        for rank in range(ranks):
            assert states[s][rank][(rank - s) % ranks] == mask((rank - k) % ranks for k in range(s + 1))
    for rank, row in enumerate(states[steps]):
        assert [chunk for chunk, held in enumerate(row) if held == everyone] == [(rank + 1) % ranks]
    assert [row.count(everyone) for row in states[-1]] == [ranks] * ranks
    assert [row.count(everyone) for row in states[-2]] == [ranks - 1] * ranks


@pytest.mark.parametrize("dedicated", [False, True])
@pytest.mark.parametrize("ranks", RANKS[1:])
def test_a_parameter_server_is_pushed_to_then_pulled_from(ranks: int, dedicated: bool) -> None:
    one = drawing("ps", ranks, dedicated=dedicated)
    whole, peers = range(1), range(1, ranks)
    push, pull = one.rounds
    assert (push.phases, pull.phases) == (("push",), ("pull",))
    ops = ["replace" if dedicated else "first", *["add"] * (ranks - 2)]
    assert push.messages == tuple(
        Message(peer, 0, whole, 2520, op)  # type: ignore[arg-type]
        for peer, op in zip(peers, ops, strict=True)
    )
    assert pull.messages == tuple(Message(0, peer, whole, 2520, "replace") for peer in peers)
    start, pushed, pulled = snapshots(one)
    own = [[1 << rank] for rank in range(ranks)]
    assert start == [[0], *own[1:]] if dedicated else own
    assert pushed == [[mask(one.workers)], *own[1:]]
    assert pulled == [[mask(one.workers)]] * ranks


@pytest.mark.parametrize(("ranks", "servers"), [(4, 4), (5, 2), (9, 3)])
def test_a_shard_is_complete_on_its_server_first(ranks: int, servers: int) -> None:
    one = drawing("sharded-ps", ranks, servers)
    assert len(one.chunks) == servers
    _, pushed, pulled = snapshots(one)
    everywhere = [(rank, chunk) for rank in range(ranks) for chunk in range(servers)]
    complete = [(rank, chunk) for rank, chunk in everywhere if pushed[rank][chunk] == one.everyone]
    assert complete == [(server, server) for server in range(servers)]
    assert pulled == [[one.everyone] * servers] * ranks


@pytest.mark.parametrize("dedicated", [False, True])
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", SCHEDULED)
def test_every_worker_ends_complete_and_the_bytes_are_those_of_the_messages(
    name: str, ranks: int, dedicated: bool
) -> None:
    one = drawing(name, ranks, dedicated=dedicated and ranks > 1)
    assert one.faults == ()
    assert len({hi - lo for lo, hi in one.chunks}) == 1
    assert all(set(snapshots(one)[-1][worker]) == {one.everyone} for worker in one.workers)
    messages = [message for round_ in one.rounds for message in round_.messages]
    for rank, traffic in enumerate(one.traffic):
        sent = [message.elements for message in messages if message.source == rank]
        received = [message.elements for message in messages if message.dest == rank]
        assert traffic == Traffic(sum(sent), sum(received), len(sent), len(received))


def test_one_rank_copies_its_gradient() -> None:
    one = drawing("ring", 1)
    assert [round_.copies for round_ in one.rounds] == [(Copied(0, range(1)),)]
    assert one.rounds[0].changes == (Change(0, 0, 1),)


def chain(ranks: int) -> list[list[list[Round]]]:
    """Sums travel from the last rank to rank 0, and the whole sum back: each rank has rounds of its own."""
    plan = []
    for rank in range(ranks):
        left, right, rounds = rank - 1, rank + 1, list[Round]()
        if right < ranks:
            rounds.append(Round("reduce", recvs=(Recv(right, 0, 1, "first"),)))
        if left >= 0:
            rounds += [
                Round("reduce", sends=(Send(left, "output" if right < ranks else "input", 0, 1),)),
                Round("broadcast", recvs=(Recv(left, 0, 1, "replace"),)),
            ]
        if right < ranks:
            rounds.append(Round("broadcast", sends=(Send(right, "output", 0, 1),)))
        plan.append([rounds])
    return plan


def test_a_message_travels_when_both_its_ends_have_come_so_far() -> None:
    one = draw(chain(4), 1, range(4))
    assert one.faults == ()
    moves = [[(message.source, message.dest) for message in round_.messages] for round_ in one.rounds]
    assert moves == [[(3, 2)], [(2, 1)], [(1, 0)], [(0, 1)], [(1, 2)], [(2, 3)]]
    assert [round_.phases for round_ in one.rounds] == [("reduce",)] * 3 + [("broadcast",)] * 3
    assert [row[0] for row in snapshots(one)[3]] == [0b1111, 0b1110, 0b1100, 0b1000]


def test_rounds_without_work_take_no_time_and_copies_take_one() -> None:
    before = [Round("wait"), Round("copy", local=(Copy(0, 1),)), Round("wait")]
    swaps = [Round("swap", (Send(peer, "input", 0, 1),), (Recv(peer, 0, 1, "add"),)) for peer in (1, 0)]
    one = draw([[[*before, swap]] for swap in swaps], 1, range(2))
    assert one.faults == ()
    assert [round_.phases for round_ in one.rounds] == [("copy",), ("swap",)]


def test_a_schedule_that_is_wrong_is_drawn_as_far_as_it_goes() -> None:
    plan = plan_of("ps", strategies()["ps"].roles(3), 1)
    plan[2][0].pop()  # rank 2 does not pull
    one = draw(plan, 1, range(3))
    assert [len(round_.messages) for round_ in one.rounds] == [2, 1]
    assert [(fault.kind, fault.rank, fault.peer) for fault in one.faults] == [("unmatched", 0, 2)]


def test_a_plan_is_made_unless_it_has_too_many_messages() -> None:
    rounds = {rank: slices[0] for rank, slices in enumerate(ring(5))}
    assert plan_within(rounds.__getitem__, 5, 40) == ring(5)
    assert plan_within(rounds.__getitem__, 5, 39) is None
