"""Each kind of fault is found, with the round, the rank and the peer."""

import pytest
from plans import Plan, plan_of, ring, step_of

from dpbench.schedule.faults import Fault, Place
from dpbench.schedule.round import Copy, Op, Recv, Round, Send, Update, round_of
from dpbench.schedule.simulate import simulate
from dpbench.schedule.textbook import ring_faults
from dpbench.strategies.registry import strategies


def change(plan: Plan, rank: int, place: Place, old: object, *new: Send | Recv | Copy) -> Plan:
    """Put `new` where `old` was; drop `old` if there is no `new`."""
    round_ = plan[rank][place.slice][place.round]
    works: list[Send | Recv | Copy] = [*round_.sends, *round_.recvs, *round_.local]
    assert old in works
    works = [one for work in works for one in (new if work == old else (work,))]
    plan[rank][place.slice][place.round] = round_of(
        round_.phase,
        [work for work in works if isinstance(work, Send)],
        [work for work in works if isinstance(work, Recv)],
        [work for work in works if isinstance(work, Copy)],
    )
    return plan


def where(fault: Fault) -> tuple[str, int, Place, int | None]:
    return fault.kind, fault.rank, fault.place, fault.peer


def test_a_receive_that_is_missing_leaves_a_send_unmatched() -> None:
    place = Place(0, 5)  # the ring's last round
    plan = ring(4)
    plan = change(plan, 2, place, plan[2][0][5].recvs[0])
    assert [where(fault) for fault in simulate(plan, 1000, range(4))] == [("unmatched", 1, place, 2)]


def test_a_send_that_is_missing_leaves_a_receive_unmatched() -> None:
    place = Place(0, 5)
    plan = ring(4)
    plan = change(plan, 2, place, plan[2][0][5].sends[0])
    assert [where(fault) for fault in simulate(plan, 1000, range(4))] == [("unmatched", 3, place, 2)]


def test_a_receive_that_is_missing_early_is_named_where_the_message_goes_astray() -> None:
    plan = ring(4)
    plan = change(plan, 2, Place(0, 1), plan[2][0][1].recvs[0])
    astray = next(fault for fault in simulate(plan, 1000, range(4)) if fault.kind == "mismatch")
    assert where(astray) == ("mismatch", 2, Place(0, 2), 1)
    assert "sent in round 1 of slice 0" in astray.text


def test_a_message_that_both_ends_forgot_is_a_wrong_sum() -> None:
    roles = strategies()["ps"].roles(4)
    plan = plan_of("ps", roles, 1000)
    plan = change(plan, 3, Place(0, 0), Send(0, "input", 0, 1000))
    plan = change(plan, 0, Place(0, 0), plan[0][0][0].recvs[0])
    plan = change(plan, 0, Place(0, 0), plan[0][0][0].recvs[0], Recv(2, 0, 1000, "first"))
    faults = simulate(plan, 1000, range(4))
    assert [where(fault)[:3] for fault in faults] == [("sum", 0, Place(0, 0))] + [
        ("sum", rank, Place(0, 1)) for rank in (1, 2, 3)
    ]
    assert [fault.peer for fault in faults[1:]] == [0, 0, 0]
    assert all("without the gradients of [3]" in fault.text for fault in faults)


def test_a_gradient_that_is_added_twice_is_named_at_once() -> None:
    plan = ring(4)
    old = plan[3][0][3].recvs[0]
    fault = simulate(change(plan, 3, Place(0, 3), old, old._replace(op="first")), 1000, range(4))[0]
    assert where(fault) == ("sum", 3, Place(0, 3), 2)
    assert "sum of [3] is joined by that of [0, 1, 2, 3]" in fault.text


@pytest.mark.parametrize(("op", "text"), [("add", "sum of []"), ("replace", "without")])
def test_a_wrong_operation_is_a_wrong_sum(op: Op, text: str) -> None:
    plan = ring(4)
    old = plan[1][0][0].recvs[0]
    plan = change(plan, 1, Place(0, 0), old, old._replace(op=op))
    faults = simulate(plan, 1000, range(4))
    assert {fault.kind for fault in faults} == {"sum"}
    assert text in faults[0].text
    assert op == "replace" or where(faults[0]) == ("sum", 1, Place(0, 0), 0)


def test_output_that_nobody_wrote_is_never_sent_unseen() -> None:
    plan = ring(4)
    old = plan[1][0][0].sends[0]
    fault = simulate(change(plan, 1, Place(0, 0), old, old._replace(buffer="output")), 1000, range(4))[0]
    assert where(fault) == ("sum", 2, Place(0, 0), 1)


def test_a_dedicated_server_has_no_gradient_to_add() -> None:
    roles = strategies()["ps"].roles(3, dedicated=True)
    plan = plan_of("ps", roles, 10)
    old = plan[0][0][0].recvs[0]
    assert old.op == "replace"
    fault = simulate(change(plan, 0, Place(0, 0), old, old._replace(op="first")), 10, roles.workers)[0]
    assert where(fault)[:3] == ("sum", 0, Place(0, 0))


def test_a_dedicated_server_must_hold_the_sum_of_what_it_wrote() -> None:
    server = [Round("push", recvs=(Recv(1, 0, 9, "replace"),))]
    worker = [Round("push", sends=(Send(0, "input", 0, 9),))]
    faults = simulate([[server], [worker], [[]]], 9, range(1, 3))
    assert ("sum", 0, Place(0, 0), 1) in [where(fault) for fault in faults]


def test_a_chunk_swapped_at_one_end_is_a_mismatch() -> None:
    plan = ring(4)
    old, (lo, hi) = plan[2][0][1].sends[0], plan[2][0][0].sends[0][2:]
    fault = simulate(change(plan, 2, Place(0, 1), old, old._replace(lo=lo, hi=hi)), 1000, range(4))[0]
    assert where(fault) == ("mismatch", 3, Place(0, 1), 2)


def test_a_chunk_swapped_at_both_ends_is_a_wrong_sum() -> None:
    place = Place(0, 3)
    plan = ring(4)
    send, recv = plan[2][0][3].sends[0], plan[3][0][3].recvs[0]
    lo, hi = plan[2][0][5].sends[0][2:]
    plan = change(plan, 2, place, send, send._replace(lo=lo, hi=hi))
    plan = change(plan, 3, place, recv, recv._replace(lo=lo, hi=hi))
    faults = simulate(plan, 1000, range(4))
    assert {fault.kind for fault in faults} == {"sum"}
    assert where(faults[0]) == ("sum", 0, Place(0, 4), 3)  # rank 3 passes on the chunk that it did not get
    assert any(fault.rank == 3 for fault in faults)


def test_a_message_of_another_length_is_a_mismatch() -> None:
    plan = ring(4)
    old = plan[2][0][1].sends[0]
    fault = simulate(change(plan, 2, Place(0, 1), old, old._replace(hi=old.hi - 1)), 1000, range(4))[0]
    assert where(fault) == ("mismatch", 3, Place(0, 1), 2)


def test_a_range_that_is_sent_while_it_is_received_is_a_hazard() -> None:
    place = Place(0, 2)
    plan = ring(4)
    round_ = plan[1][0][2]
    hi = round_.recvs[0].hi
    faults = simulate(change(plan, 1, place, round_.sends[0], Send(2, "output", hi - 1, hi)), 1000, range(4))
    assert where(faults[0]) == ("hazard", 1, place, 0)


def test_input_is_only_read_so_it_may_be_sent_while_the_output_is_received() -> None:
    one = [Round("swap", sends=(Send(1, "input", 0, 9),), recvs=(Recv(1, 0, 9, "first"),))]
    two = [Round("swap", sends=(Send(0, "input", 0, 9),), recvs=(Recv(0, 0, 9, "first"),))]
    assert simulate([[one], [two]], 9, range(2)) == []


def test_ranges_that_are_received_together_are_the_same_or_apart() -> None:
    one = [Round("push", recvs=(Recv(1, 0, 6, "first"), Recv(2, 5, 9, "first")))]
    two, three = ([Round("push", sends=(Send(0, "input", *extent),))] for extent in ((0, 6), (5, 9)))
    assert where(simulate([[one], [two], [three]], 9, range(3))[0]) == ("hazard", 0, Place(0, 0), 2)


def test_a_range_outside_the_slice_is_a_hazard() -> None:
    plan = ring(2, 10, 2)
    plan[0][1][0] = round_of("reduce-scatter", plan[0][1][0].sends, plan[0][1][0].recvs, [Copy(0, 1)])
    assert where(simulate(plan, 10, range(2), lanes=2)[0]) == ("hazard", 0, Place(1, 0), None)


def blocking(plan: Plan, sends_first: bool) -> Plan:
    """Give the sends of every round and its receives a round each."""

    def halves(one: Round) -> tuple[Round, ...]:
        pair = Round(one.phase, sends=one.sends), Round(one.phase, recvs=one.recvs)
        return pair if sends_first else pair[::-1]

    return [[[half for one in rounds for half in halves(one)] for rounds in slices] for slices in plan]


@pytest.mark.parametrize("sends_first", [True, False])
def test_a_ring_of_blocking_calls_deadlocks_and_all_that_wait_are_named(sends_first: bool) -> None:
    faults = simulate(blocking(ring(4), sends_first), 1000, range(4))
    step = 1 if sends_first else -1
    assert sorted(map(where, faults)) == [
        ("deadlock", rank, Place(0, 0), (rank + step) % 4) for rank in range(4)
    ]
    assert "waits in round 0 of slice 0" in str(faults[0])


def test_a_slice_in_another_lane_at_one_rank_is_found() -> None:
    plan = ring(3, 1000, 4)
    plan[1][0], plan[1][1] = plan[1][1], plan[1][0]
    kinds = {fault.kind for fault in simulate(plan, 1000, range(3), lanes=2)}
    assert "mismatch" in kinds


def test_two_messages_of_a_round_to_one_peer_have_no_order() -> None:
    one = [Round("push", sends=(Send(1, "input", 0, 4), Send(1, "input", 4, 9)))]
    two = [Round("push", recvs=(Recv(0, 0, 4, "first"), Recv(0, 4, 9, "first")))]
    runs = [simulate([[one], [two]], 9, range(2), seed=seed) for seed in range(20)]
    assert any(fault.kind == "mismatch" for faults in runs for fault in faults)


def test_the_textbook_notices_a_stranger_and_a_late_addition() -> None:
    plan = ring(4)
    old = plan[2][0][4].recvs[0]
    change(plan, 2, Place(0, 4), old, old._replace(op="add"))
    assert [where(fault) for fault in ring_faults(plan, 1000)] == [("ring", 2, Place(0, 4), 1)]
    old = plan[2][0][4].recvs[0]
    change(plan, 2, Place(0, 4), old, old._replace(op="replace", peer=3))
    assert [where(fault) for fault in ring_faults(plan, 1000)] == [("ring", 2, Place(0, 4), 3)]


def test_the_textbook_notices_that_no_chunk_is_complete_at_half_time() -> None:
    roles = strategies()["ps"].roles(4)
    assert any("complete" in fault.text for fault in ring_faults(plan_of("ps", roles, 1000), 1000))


def test_a_fault_reads_as_a_sentence() -> None:
    fault = Fault("mismatch", 3, Place(0, 1), 2, "expects [0, 4) and gets [4, 8)")
    assert str(fault) == "mismatch: rank 3, round 1 of slice 0, peer 2: expects [0, 4) and gets [4, 8)"
    assert str(Fault("hazard", 3, Place(0, 1), None, "so")) == "hazard: rank 3, round 1 of slice 0: so"


def stepped(rank: int, *rounds: Round) -> list[Fault]:
    """The faults of a step of ps on 3 ranks whose rank does `rounds` instead of its own."""
    plan = step_of("ps", strategies()["ps"].roles(3), 90)
    plan[rank] = [list(rounds)]
    return simulate(plan, 90, range(3), target="weights")


def test_a_step_without_its_update_sends_old_weights() -> None:
    push, _, pull = step_of("ps", strategies()["ps"].roles(3), 90)[0][0]
    faults = stepped(0, push, pull)
    assert {where(fault)[:2] for fault in faults} >= {("sum", 1), ("sum", 2)}
    assert {fault.rank for fault in faults if "ends without" in fault.text} == {0, 1, 2}


def test_weights_that_are_updated_twice_are_found() -> None:
    push, update, pull = step_of("ps", strategies()["ps"].roles(3), 90)[0][0]
    assert [where(fault) for fault in stepped(0, push, update, update, pull)] == [("sum", 0, Place(0, 2), None)]


def test_a_sum_that_is_sent_after_its_update_is_found() -> None:
    send, recv = Send(1, "output", 0, 9), Recv(0, 0, 9, "replace")
    sums = round_of("push", recvs=[Recv(1, 0, 9, "first")]), Round("push", sends=(Send(0, "input", 0, 9),))
    update = Round("update", local=(Update(0, 9),))
    pull = Round("pull", sends=(send,)), Round("pull", recvs=(recv,))
    early: Plan = [[[sums[0], update, pull[0]]], [[sums[1], pull[1], update]]]
    assert "sum" in {fault.kind for fault in simulate(early, 9, range(2), target="weights")}
    late: Plan = [[[sums[0], pull[0], update]], [[sums[1], pull[1], update]]]
    assert simulate(late, 9, range(2), target="weights") == []


def test_an_update_before_there_is_a_sum_is_found() -> None:
    push, update, pull = step_of("ps", strategies()["ps"].roles(3), 90)[0][0]
    assert ("sum", 0, Place(0, 0), None) in [where(fault) for fault in stepped(0, update, push, pull)]


def test_a_sum_does_not_pass_for_weights_nor_weights_for_a_sum() -> None:
    push, update, pull = step_of("ps", strategies()["ps"].roles(3), 90)[0][0]
    sums = Round(pull.phase, tuple(send._replace(buffer="output") for send in pull.sends), pull.recvs)
    assert {where(fault)[0] for fault in stepped(0, push, update, sums)} == {"mismatch", "sum"}


def test_weights_are_never_added_up() -> None:
    hazard = Round("pull", recvs=(Recv(1, 0, 9, "add", "weights"),))
    faults = simulate([[[hazard]], [[Round("pull", sends=(Send(0, "weights", 0, 9),))]]], 9, range(2), target="weights")
    assert "hazard" in {fault.kind for fault in faults}


def test_an_update_outside_its_slice_is_a_hazard() -> None:
    plan: Plan = [[[round_of("sum", local=[Copy(0, 9)]), round_of("update", local=[Update(0, 10)])]]]
    faults = simulate(plan, 9, range(1), target="weights")
    assert [where(fault) for fault in faults if fault.kind == "hazard"] == [("hazard", 0, Place(0, 1), None)]
