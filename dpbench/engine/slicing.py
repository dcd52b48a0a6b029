"""How many slices, and how many of them at a time: the rule behind `--slices auto`."""

GRAIN = 256 * 1024  # bytes of one message, at least: below, the cost per message outweighs the overlap
MOST_SLICES = 32
LANES = 4


def slicing(nbytes: int, pieces: int, slices: int | None, window: int | None) -> tuple[int, int]:
    """Return (slices, window) for a gradient of `nbytes` that a strategy cuts into `pieces` messages per slice.

    As many slices as leave messages of GRAIN bytes, between 1 and MOST_SLICES; LANES of them at a time.
    """
    chosen = slices or max(1, min(MOST_SLICES, nbytes // (pieces * GRAIN)))
    return chosen, min(chosen, window or LANES)
