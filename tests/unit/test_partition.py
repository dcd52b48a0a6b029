"""Cutting ranges: contiguous, even, whatever the numbers."""

from itertools import pairwise

import pytest

from dpbench.schedule.partition import merged, part, sliced


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 1000, 4097])
@pytest.mark.parametrize("parts", [1, 2, 3, 8, 9, 2048])
def test_parts_cover_the_range_in_order_and_differ_by_at_most_one(count: int, parts: int) -> None:
    lo = 5
    cut = [part(lo, lo + count, parts, index) for index in range(parts)]
    assert cut[0][0] == lo
    assert cut[-1][1] == lo + count
    assert all(before[1] == after[0] for before, after in pairwise(cut))
    sizes = [end - start for start, end in cut]
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


def test_the_longer_parts_come_first() -> None:
    assert [part(0, 8, 3, index) for index in range(3)] == [(0, 3), (3, 6), (6, 8)]


def test_an_empty_range_has_empty_parts() -> None:
    assert [part(4, 4, 3, index) for index in range(3)] == [(4, 4)] * 3


def test_a_huge_range_is_cut_exactly() -> None:
    assert part(0, 2**62 + 1, 2, 0) == (0, 2**61 + 1)


def test_slices_come_in_index_order() -> None:
    seen: list[tuple[int, int]] = []

    def rounds(lo: int, hi: int) -> list[object]:
        seen.append((lo, hi))
        return []

    assert [list(one) for one in sliced(rounds, 7, 3)] == [[], [], []]  # type: ignore[arg-type]
    assert seen == [(0, 3), (3, 5), (5, 7)]


def test_merged_joins_what_touches_or_overlaps_and_drops_what_is_empty() -> None:
    assert merged([(5, 7), (0, 2), (2, 3), (6, 9), (4, 4), (0, 1)]) == [(0, 3), (5, 9)]
    assert merged([]) == []
