"""What the textbook says about a ring, asserted of a schedule."""

from collections.abc import Iterator
from itertools import pairwise

from dpbench.schedule.faults import Fault, Place, span
from dpbench.schedule.partition import merged, part
from dpbench.schedule.play import Play, Programs


def ring_faults(plan: Programs, count: int) -> Iterator[Fault]:
    """Find where `plan` is not the textbook's ring.

    Rank r sends to r+1 and receives from r-1 only. After N-1 rounds it holds exactly one complete chunk, r+1,
    and from then on it only replaces other chunks.
    """
    ranks = len(plan)
    steps = max(1, ranks - 1)  # one rank alone copies its gradient
    half = Play([[rounds[:steps] for rounds in slices] for slices in plan], count, range(ranks))
    half.run()
    for rank, slices in enumerate(plan):
        left, right = (rank - 1) % ranks, (rank + 1) % ranks
        chunks = [part(*part(0, count, len(slices), j), ranks, right) for j in range(len(slices))]
        cells = zip(half.held["output"][rank], pairwise(half.bounds), strict=False)  # the last bound begins no cell
        complete = merged(extent for held, extent in cells if held == (1 << ranks) - 1)
        if complete != merged(chunks):
            text = f"holds complete {complete} instead of {merged(chunks)}"
            yield Fault("ring", rank, Place(len(slices) - 1, steps - 1), left, text)
        for j, rounds in enumerate(slices):
            for index, round_ in enumerate(rounds):
                place, (lo, hi) = Place(j, index), chunks[j]
                for send in round_.sends:
                    if send.peer != right:
                        yield Fault("ring", rank, place, send.peer, f"sends {span(send)} to a stranger")
                for recv in round_.recvs:
                    if recv.peer != left:
                        yield Fault("ring", rank, place, recv.peer, f"receives {span(recv)} from a stranger")
                    if index >= steps and (recv.op != "replace" or (recv.lo < hi and lo < recv.hi)):
                        text = f"{recv.op} {span(recv)} after [{lo}, {hi}) is complete"
                        yield Fault("ring", rank, place, recv.peer, text)
