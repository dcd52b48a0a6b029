"""Cutting a range into parts."""


def part(lo: int, hi: int, parts: int, index: int) -> tuple[int, int]:
    """Return part `index` of `[lo, hi)` cut into `parts` contiguous parts whose sizes differ by at most one.

    Any range may be cut into any number of parts; the longer parts come first and parts may be empty.
    """
    size, longer = divmod(hi - lo, parts)
    start = lo + index * size + min(index, longer)
    return start, start + size + (index < longer)
