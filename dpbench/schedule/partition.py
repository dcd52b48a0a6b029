"""Cutting a range into parts, and a gradient into slices."""

from collections.abc import Callable, Iterable, Iterator

from dpbench.schedule.round import Round


def part(lo: int, hi: int, parts: int, index: int) -> tuple[int, int]:
    """Return part `index` of `[lo, hi)` cut into `parts` contiguous parts whose sizes differ by at most one.

    Any range may be cut into any number of parts; the longer parts come first and parts may be empty.
    """
    size, longer = divmod(hi - lo, parts)
    start = lo + index * size + min(index, longer)
    return start, start + size + (index < longer)


def sliced(
    rounds: Callable[[int, int], Iterable[Round]], count: int, slices: int = 1
) -> Iterator[Iterable[Round]]:
    """Yield the rounds of each slice of `count` elements, for one rank whose `rounds(lo, hi)` are given."""
    for index in range(slices):
        yield rounds(*part(0, count, slices, index))


def merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what `ranges` cover: sorted, not empty, with gaps between them."""
    cover: list[tuple[int, int]] = []
    for lo, hi in sorted(ranges):
        if lo >= hi:
            continue
        if cover and lo <= cover[-1][1]:
            cover[-1] = (cover[-1][0], max(hi, cover[-1][1]))
        else:
            cover.append((lo, hi))
    return cover
