"""How many slices, and how many of them at a time: the rule behind `--slices auto`.

Slices pay for the messages they add by keeping two things busy at once. On a network, ports: while one slice is
added or waits for its round, others travel. In shared memory every rank copies for itself and there is nothing to
overlap; there slices keep what was received in cache until it is added, one at a time.

A server of thousands of workers has thousands of messages per slice: more slices than keep the requests of a rank
persistent would take longer to compile than to run.
"""

from typing import NamedTuple


class Rule(NamedTuple):
    """`grain`: bytes of one message, at least; below, its own cost outweighs the gain."""

    grain: int
    most_slices: int
    lanes: int


IN_MEMORY = Rule(grain=2 * 2**20, most_slices=128, lanes=1)
ON_NETWORK = Rule(grain=128 * 2**10, most_slices=128, lanes=4)
MOST_MESSAGES = 2**14  # of one rank: as many as may have persistent requests


def slicing(
    nbytes: int, pieces: int, messages: int, network: bool, *, slices: int | None, window: int | None
) -> tuple[int, int]:
    """Return (slices, window) for a gradient of `nbytes` that a strategy cuts into `pieces` parts per slice.

    As many slices as leave parts of the rule's grain and no rank, with `messages` per slice, too many of them; at
    least one; `slices` and `window` override.
    """
    rule = ON_NETWORK if network else IN_MEMORY
    most = min(rule.most_slices, nbytes // (pieces * rule.grain), MOST_MESSAGES // max(1, messages))
    chosen = slices or max(1, most)
    return chosen, min(chosen, window or rule.lanes)
