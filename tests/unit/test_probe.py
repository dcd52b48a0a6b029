from itertools import chain

import pytest

from dpbench.schedule.count import added, outward, total, traffic
from dpbench.schedule.probe import ping_pong, shift, swap
from dpbench.schedule.round import Recv, Round, Send


def peers(rounds: list[Round]) -> tuple[list[int], list[int]]:
    """To whom a rank sends, and from whom it receives."""
    sends = chain.from_iterable(each.sends for each in rounds)
    recvs = chain.from_iterable(each.recvs for each in rounds)
    return [send.peer for send in sends], [recv.peer for recv in recvs]


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("back", [True, False])
def test_in_a_shift_every_send_has_its_receive(count: int, back: bool) -> None:
    active = [3 * place for place in range(count)]
    found = {rank: peers(list(shift(rank, active, 0, 8, back))) for rank in active}
    sent = {(rank, peer) for rank, (sends, _) in found.items() for peer in sends}
    received = {(peer, rank) for rank, (_, recvs) in found.items() for peer in recvs}
    assert sent == received
    assert len(sent) == (count if back else count // 2)
    if not back:
        assert all(not (sends and recvs) for sends, recvs in found.values())


def test_ranks_that_are_not_active_do_nothing() -> None:
    assert list(shift(1, [0, 2], 0, 8)) == []
    assert list(shift(0, [0], 0, 8)) == []
    assert list(swap(5, [(0, 1)], 0, 8)) == []
    assert list(ping_pong(5, (0, 1), 0, 8)) == []


def test_a_swap_uses_both_directions_at_once_and_a_ping_pong_one_after_the_other() -> None:
    assert peers(list(swap(4, [(0, 1), (7, 4)], 0, 8))) == ([7], [7])
    assert [peers([each]) for each in ping_pong(0, (0, 1), 0, 8)] == [([1], []), ([], [1])]
    assert [peers([each]) for each in ping_pong(1, (0, 1), 0, 8)] == [([], [0]), ([0], [])]


def test_outward_leaves_out_what_stays_on_the_node() -> None:
    rounds = [Round("push", (Send(1, "input", 0, 10), Send(2, "input", 0, 4)), (Recv(3, 0, 10, "add"),))]
    counted = total(traffic(outward(rounds, {0, 1}), itemsize=4))
    assert (counted.sent, counted.received) == (16, 40)


def test_only_what_is_added_counts_as_addition() -> None:
    recvs = (Recv(1, 0, 10, "first"), Recv(2, 0, 10, "add"), Recv(3, 10, 90, "replace"))
    assert added([Round("push", (), recvs)]) == 20
