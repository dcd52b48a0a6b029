"""What a lane runs: steps, each a round that was made ready, and the loops that run them.

A lane is a generator that yields whenever it has nothing to do but wait, so several lanes take turns in one
thread and one slice is added while another one's bytes travel.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from dpbench.devices.base import Call

if TYPE_CHECKING:  # a lane can be compiled and run on any wire, without MPI
    from dpbench.engine.wire import Wire


End = tuple[str, int]
"""The other end of a message: `send` or `recv`, and the peer."""


class Transfer(NamedTuple):
    """One message: how it is started, and what to do when it is complete."""

    start: Call  #: returns its request
    done: Call | None = None
    request: Any = None  #: the persistent request, if it has one


class Lane(NamedTuple):
    """What runs in order: steps, on a queue of the device."""

    steps: list["Step"]
    ready: Callable[[], bool] | None = None  #: whether all calls so far are complete; None: they always are
    memory: Any = None  #: what the messages touch: their requests know addresses only, so it must live as long


Chains = tuple[list[Iterator[Transfer]], list[Transfer], list[Any]]
"""By chain: the messages that follow, the one under way, its request."""


class Step(NamedTuple):
    """One round. Either a burst (all messages start together, the calls follow) or chains of messages.

    A chain's next message starts when the one before it is complete and dealt with: that is how a server's
    staging memory and the number of requests to test stay bounded however many peers there are.
    """

    before: list[Call]  #: what precedes the messages
    requests: list[Any]  #: a burst's persistent requests
    starts: list[Call]  #: a burst's messages where requests are made anew
    chains: list[list[Transfer]]
    after: list[Call]  #: what follows when all messages are complete


class Standing:
    """Where a lane stands, for whoever looks on from another thread: a store where it costs nothing is all it takes."""

    __slots__ = ("chains", "steps")

    def __init__(self) -> None:
        self.steps: Iterator[Step] = iter(())  #: it knows how far it is
        self.chains: Chains = ([], [], [])  #: of the last step that had some


class Pool:
    """Receives into one range: the n-th arrival gets the n-th operation, from whichever staging slot it came."""

    def __init__(self, calls: list[list[Call]]) -> None:
        self.calls = calls  #: by order of arrival, then by slot
        self.arrived = 0

    def arrive(self, slot: int) -> None:
        """Apply the operation that is next to what lies in `slot`."""
        call = self.calls[self.arrived][slot]
        self.arrived = (self.arrived + 1) % len(self.calls)
        call()


def restart(request: Any) -> Any:
    """Start a persistent request and return it."""
    request.Start()
    return request


UNWATCHED = Standing()


def run_lane(lane: Lane, wire: "Wire", standing: Standing = UNWATCHED) -> Iterator[None]:
    """Run a lane's steps one after the other; yield while waiting, for messages or for the device.

    What a call made is complete before a message carries it, before its staging is received into again, and
    before the lane ends.
    """
    startall, testall, ready = wire.startall, wire.testall, lane.ready
    standing.steps = steps = iter(lane.steps)
    for before, requests, starts, chains, after in steps:
        if before:
            for call in before:
                call()
            while ready is not None and not ready():
                yield
        if requests:
            startall(requests)
            while not testall(requests):
                yield
        elif starts:
            begun = [start() for start in starts]
            while not testall(begun):
                yield
        elif chains:
            yield from run_chains(chains, wire.testsome, ready, standing)
        if after:
            for call in after:
                call()
            while ready is not None and not ready():
                yield


def run_chains(
    chains: list[list[Transfer]],
    testsome: Callable[[list[Any]], list[int] | None],
    ready: Callable[[], bool] | None,
    standing: Standing,
) -> Iterator[None]:
    """Run chains of messages side by side; deal with each message as it completes; yield while waiting."""
    queues = [iter(chain) for chain in chains]
    current = [next(queue) for queue in queues]
    requests = [transfer.start() for transfer in current]
    standing.chains = queues, current, requests
    unfinished = len(chains)
    while unfinished:
        completed = testsome(requests)
        if not completed:
            yield
            continue
        for index in completed:
            done = current[index].done
            if done is not None:
                done()
        while ready is not None and not ready():
            yield
        for index in completed:
            following = next(queues[index], None)
            if following is None:
                unfinished -= 1
            else:
                current[index] = following
                requests[index] = following.start()


def in_turn(*calls: Call) -> None:
    """Make the calls one after the other."""
    for call in calls:
        call()
