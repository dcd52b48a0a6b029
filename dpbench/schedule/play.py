"""The machinery of the simulation: lanes post transfers, messages match and arrive, outputs hold values."""

import random
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from dpbench.schedule.faults import Fault, Place, ranks_of, span
from dpbench.schedule.round import Buffer, Copy, Op, Recv, Round, Send, Target

Programs = Sequence[Sequence[Sequence[Round]]]
"""`programs[rank][j]`: what a rank does for slice j, round by round."""


class Lane:
    """One lane of one rank: its rounds, and what the current one still waits for."""

    def __init__(self, rank: int, tag: int, slices: Iterable[tuple[int, Sequence[Round]]]) -> None:
        self.rank, self.tag = rank, tag
        self.todo = deque((j, index, r) for j, rounds in slices for index, r in enumerate(rounds))
        self.slice, self.index, self.round = 0, 0, Round("")
        self.posted = 0  #: receives of the round
        self.missing = 0  #: transfers of the round that are not complete
        self.ops: dict[tuple[int, ...], list[Op]] = {}  #: of the receives into one range, last arrival first

    def next_round(self) -> bool:
        """Go on to the next round; False at the end."""
        if not self.todo:
            return False
        self.slice, self.index, self.round = self.todo.popleft()
        self.posted, self.missing = 0, len(self.round.sends) + len(self.round.recvs)
        self.ops = {}
        for recv in reversed(self.round.recvs):
            self.ops.setdefault(recv[1:3], []).append(recv.op)
        return True

    @property
    def place(self) -> Place:
        """Where the lane is."""
        return Place(self.slice, self.index)

    def will_meet(self, transfer: Send | Recv, rank: int) -> bool:
        """Whether the other end of `transfer`, with `rank`, is among what is still to be posted."""
        if isinstance(transfer, Recv):
            return any(send.peer == rank for *_, round_ in self.todo for send in round_.sends)
        later = [recv for *_, round_ in self.todo for recv in round_.recvs]
        return any(recv.peer == rank for recv in (*self.round.recvs[self.posted :], *later))


Message = tuple[Lane, Send, Lane, Recv]
"""A send and the receive that it matched, each after its lane."""


class Play:
    """All lanes of all ranks, the messages between them, and what every output holds.

    A cell is a range of elements that no transfer cuts, `[bounds[cell], bounds[cell + 1])`.
    `held["output"][rank][cell]` is the set of ranks, as a bit mask, whose gradients are summed there in the rank's
    output; of the weights it is those whose sum has changed them, none if they are old. `writer[rank][cell]` is
    the slice, the round and the peer of the last change.
    """

    def __init__(
        self,
        plan: Programs,
        count: int,
        workers: range,
        *,
        lanes: int = 1,
        credits: int | None = None,
        seed: int = 1,
    ) -> None:
        self.credits, self.random, self.faults = credits, random.Random(seed), list[Fault]()
        self.lanes = {
            (rank, tag): Lane(rank, tag, list(enumerate(slices))[tag::lanes])
            for rank, slices in enumerate(plan)
            for tag in range(lanes)
        }
        self.bounds = sorted(bounds_of(plan) | {0, count})
        self.cell = {bound: index for index, bound in enumerate(self.bounds)}
        self.own = [1 << rank if rank in workers else 0 for rank in range(len(plan))]
        targets: tuple[Target, Target] = ("output", "weights")
        self.held = {target: [[0] * len(self.bounds) for _ in plan] for target in targets}
        nobody: tuple[int, int, int | None] = (0, 0, None)
        self.writer = [[nobody] * len(self.bounds) for _ in plan]
        # Posted and not yet matched, by (source, destination, tag).
        self.sends: dict[tuple[int, int, int], deque[tuple[Lane, Send]]] = defaultdict(deque)
        self.recvs: dict[tuple[int, int, int], deque[tuple[Lane, Recv]]] = defaultdict(deque)
        self.matched: list[Message] = []

    def run(self) -> None:
        """Play until nothing can move any more."""
        for lane in self.random.sample(list(self.lanes.values()), len(self.lanes)):
            self.begin(lane)
        while self.matched:
            pick = int(self.random.random() * len(self.matched))
            self.matched[pick], self.matched[-1] = self.matched[-1], self.matched[pick]
            message = self.matched.pop()
            self.deliver(message)
            source, _, dest, _ = message
            if self.credits:
                self.post_recvs(dest, 1)
            for lane in (source, dest):
                lane.missing -= 1
                if not lane.missing:
                    self.work(lane)
                    self.begin(lane)

    def begin(self, lane: Lane) -> None:
        """Start the lane's next round, and the ones after it as long as they have no transfers."""
        while lane.next_round():
            self.post(lane)
            if lane.missing:
                return
            self.work(lane)

    def post(self, lane: Lane) -> None:
        """Post the transfers of the lane's round; the sends in any order."""
        sends = lane.round.sends
        for send in self.random.sample(sends, len(sends)) if len(sends) > 1 else sends:
            key = (lane.rank, send.peer, lane.tag)
            if partners := self.recvs[key]:
                self.matched.append((lane, send, *partners.popleft()))
            else:
                self.sends[key].append((lane, send))
        self.post_recvs(lane, self.credits)

    def post_recvs(self, lane: Lane, most: int | None) -> None:
        """Post the next receives of the lane's round: at most so many, or all."""
        recvs = lane.round.recvs[lane.posted :][:most]
        lane.posted += len(recvs)
        for recv in recvs:
            key = (recv.peer, lane.rank, lane.tag)
            if partners := self.sends[key]:
                self.matched.append((*partners.popleft(), lane, recv))
            else:
                self.recvs[key].append((lane, recv))

    def deliver(self, message: Message) -> None:
        """Combine what arrives with what the receiver has."""
        source, send, dest, recv = message
        if send[2:] != recv[1:3] or (send.buffer == "weights") != (recv.buffer == "weights"):
            text = f"expects {span(recv)} and gets {span(send)}, sent in {source.place}"
            self.faults.append(Fault("mismatch", dest.rank, dest.place, source.rank, text))
            return
        op = dest.ops[recv[1:3]].pop()
        own, writer = self.own[dest.rank], self.writer[dest.rank]
        target = self.held[recv.buffer][dest.rank]
        for cell in range(self.cell[recv.lo], self.cell[recv.hi]):
            value = self.value(source.rank, send.buffer, cell)
            base = 0 if op == "replace" else own if op == "first" else target[cell]
            if not value or base & value or not (base or op == "replace"):
                where = f"[{self.bounds[cell]}, {self.bounds[cell + 1]})"
                text = f"{op} {where}: the sum of {ranks_of(base)} is joined by that of {ranks_of(value)}"
                self.faults.append(Fault("sum", dest.rank, dest.place, source.rank, text))
            target[cell] = base | value
            writer[cell] = (dest.slice, dest.index, source.rank)

    def value(self, rank: int, buffer: Buffer, cell: int) -> int:
        """Return what a rank has in a buffer."""
        return self.own[rank] if buffer == "input" else self.held[buffer][rank][cell]

    def work(self, lane: Lane) -> None:
        """Do the local work of the lane's round."""
        rank = lane.rank
        output, weights = self.held["output"][rank], self.held["weights"][rank]
        for one in lane.round.local:
            for cell in range(self.cell[one.lo], self.cell[one.hi]):
                self.writer[rank][cell] = (lane.slice, lane.index, None)
                if isinstance(one, Copy):
                    output[cell] = self.own[rank]
                    continue
                if weights[cell] or not output[cell]:
                    text = f"update {span(one)} by {ranks_of(output[cell])} after {ranks_of(weights[cell])}"
                    self.faults.append(Fault("sum", rank, lane.place, None, text))
                weights[cell] |= output[cell]
                output[cell] = 0  # it is spent

    def stalls(self) -> list[Fault]:
        """Return why the play did not end: transfers without a partner, else all that wait for others."""
        posted: list[tuple[Lane, Send | Recv]] = [one for queue in self.sends.values() for one in queue]
        posted += [one for queue in self.recvs.values() for one in queue]
        faults = [self.stall(lane, transfer) for lane, transfer in posted]
        return [fault for fault in faults if fault.kind == "unmatched"] or faults

    def stall(self, lane: Lane, transfer: Send | Recv) -> Fault:
        """Say what a posted transfer waits for."""
        peer, other = transfer.peer, self.lanes.get((transfer.peer, lane.tag))
        text = f"waits to {'receive' if isinstance(transfer, Recv) else 'send'} {span(transfer)}"
        if other and other.will_meet(transfer, lane.rank):
            text += f"; rank {peer} waits in {other.place}"
            return Fault("deadlock", lane.rank, lane.place, peer, text)
        return Fault("unmatched", lane.rank, lane.place, peer, f"{text}; rank {peer} never does its part")


def bounds_of(plan: Programs) -> set[int]:
    """Return where any range begins or ends."""
    rounds = [round_ for slices in plan for rounds in slices for round_ in rounds]
    sent = {bound for round_ in rounds for send in round_.sends for bound in send[2:]}
    received = {bound for round_ in rounds for recv in round_.recvs for bound in recv[1:3]}
    return sent | received | {bound for round_ in rounds for work in round_.local for bound in work}
