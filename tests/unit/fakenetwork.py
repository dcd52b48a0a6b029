"""All ranks in one process: what the engine compiles runs on this network without MPI.

Messages match as in MPI (first in, first out per sender, receiver and tag), sends are synchronous, everything
completes in random order, and a posted receive buffer holds rubbish until it completes.
"""

import ctypes
import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

Channel = tuple[int, int, int]  #: sender, receiver, tag

RUBBISH = 0xFE
PATIENCE = 1000  #: polls without any message under way before the ranks count as deadlocked


@dataclass(eq=False)
class Request:
    wire: "FakeWire"
    kind: str
    address: int
    nbytes: int
    peer: int
    tag: int
    active: bool = False
    complete: bool = False

    def Start(self) -> None:
        assert not self.active, "started while it is under way"
        self.active, self.complete = True, False
        self.wire.note(self.kind, 1)
        self.wire.network.post(self)

    def finish(self) -> None:
        """What a successful test makes of it: inactive."""
        if self.active:
            self.wire.note(self.kind, -1)
        self.active = False


class Network:
    """The messages under way between all ranks."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sends: dict[Channel, deque[Request]] = defaultdict(deque)
        self.recvs: dict[Channel, deque[Request]] = defaultdict(deque)

    def post(self, request: Request) -> None:
        rank, peer = request.wire.rank, request.peer
        if request.kind == "send":
            self.sends[rank, peer, request.tag].append(request)
        else:
            ctypes.memset(request.address, RUBBISH, request.nbytes)
            self.recvs[peer, rank, request.tag].append(request)

    def matched(self) -> list[Channel]:
        return [channel for channel, sends in self.sends.items() if sends and self.recvs[channel]]

    def deliver(self) -> bool:
        """Let about half of what could arrive now arrive; tell whether anything could."""
        ready = self.matched()
        for channel in self.random.sample(ready, (len(ready) + 1) // 2):
            send, recv = self.sends[channel].popleft(), self.recvs[channel].popleft()
            assert send.nbytes == recv.nbytes, f"{channel}: {send.nbytes} bytes for {recv.nbytes}"
            ctypes.memmove(recv.address, send.address, send.nbytes)
            send.complete = recv.complete = True
        return bool(ready)

    def run(self, lanes: list[Iterator[None]]) -> None:
        """Run the lanes of all ranks in random order until all have ended."""
        idle = 0
        while lanes:
            lane = self.random.choice(lanes)
            if next(lane, "ended") == "ended":
                lanes.remove(lane)
                idle = 0
            else:
                idle = 0 if self.deliver() else idle + 1
            assert idle < PATIENCE, "deadlock"
        assert not any(map(len, [*self.sends.values(), *self.recvs.values()])), "a message has no partner"


class FakeWire:
    """One rank's wire: what the engine's `Wire` is to MPI."""

    def __init__(self, rank: int, network: Network, persistent: int = 16_384) -> None:
        self.rank = rank
        self.network = network
        self.persistent_most = persistent
        self.asked = 0
        self.made: list[Request] = []
        self.live = 0
        self.posted: Counter[str] = Counter()
        self.most_posted: Counter[str] = Counter()

    def note(self, kind: str, change: int) -> None:
        self.posted[kind] += change
        self.most_posted[kind] = max(self.most_posted[kind], self.posted[kind])

    def spec(self, address: int, nbytes: int) -> list[int]:
        return [address, nbytes]

    def fits(self, requests: int) -> bool:
        self.asked = requests
        return self.live + requests <= self.persistent_most

    def make(self, kind: str, spec: list[int], peer: int, tag: int) -> Request:
        self.made.append(Request(self, kind, *spec, peer, tag))
        return self.made[-1]

    def persistent(self, kind: str, spec: list[int], peer: int, tag: int) -> Request:
        self.live += 1
        return self.make(kind, spec, peer, tag)

    def transient(self, kind: str, spec: list[int], peer: int, tag: int) -> Callable[[], Request]:
        self.make(kind, spec, peer, tag)  # on record only
        return partial(self.begin, kind, *spec, peer, tag)

    def begin(self, kind: str, address: int, nbytes: int, peer: int, tag: int) -> Request:
        request = Request(self, kind, address, nbytes, peer, tag)
        request.Start()
        return request

    def startall(self, requests: list[Request]) -> None:
        for request in self.network.random.sample(requests, len(requests)):  # MPI promises no order
            request.Start()

    def testall(self, requests: list[Request]) -> bool:
        if not all(request.complete for request in requests):
            return False
        for request in requests:
            request.finish()
        return True

    def testsome(self, requests: list[Request]) -> list[int] | None:
        active = [index for index, request in enumerate(requests) if request.active]
        if not active:
            return None
        complete = [index for index in active if requests[index].complete]
        found = self.network.random.sample(complete, len(complete))
        for index in found:
            requests[index].finish()
        return found
