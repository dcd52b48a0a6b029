"""How many slices, and how many of them at a time: the rule behind `--slices auto`.

Slices pay for the messages they add by keeping two things busy at once. On a network, ports: while one slice waits
for its round or is added, another one travels, and what no other slice covers, the first one's start and the last
one's end, gets shorter. How many that takes is the strategy's to say: `Scheduled.overlap`. More than two at a time
only queue up behind each other. In shared memory every rank copies for itself and there is nothing to overlap; there
slices keep what was received in cache until it is added, one at a time.

A server of thousands of workers has thousands of messages per slice: more slices than keep the requests of a rank
persistent would take longer to compile than to run.
"""

from typing import NamedTuple


class Rule(NamedTuple):
    """`grain`: bytes of one message, at least; below, its own cost outweighs the gain. `lanes`: slices at a time."""

    grain: int
    lanes: int


IN_MEMORY = Rule(grain=2 * 2**20, lanes=1)
ON_NETWORK = Rule(grain=16 * 2**10, lanes=2)
MOST_IN_MEMORY = 128
MOST_MESSAGES = 2**14  # of one rank: as many as may have persistent requests


def slicing(
    nbytes: int, pieces: int, messages: int, overlap: int | None, *, slices: int | None, window: int | None
) -> tuple[int, int]:
    """Return (slices, window) for a gradient of `nbytes` that a strategy cuts into `pieces` parts per slice.

    As many slices as it takes to keep ports busy, `overlap`, or in shared memory, where that is None, to keep messages
    small; but only so many that parts have the rule's grain, and that no rank, with `messages` per slice, has too
    many of them; at least one. `slices` and `window` override.
    """
    rule, useful = (IN_MEMORY, MOST_IN_MEMORY) if overlap is None else (ON_NETWORK, overlap)
    most = min(useful, nbytes // (pieces * rule.grain), MOST_MESSAGES // max(1, messages))
    chosen = slices or max(1, most)
    return chosen, min(chosen, window or rule.lanes)
