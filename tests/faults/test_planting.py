"""A part of the campaign, drawn so that every kind of fault is in it; `make faults` plants all of them."""

import planting
import pytest


@pytest.mark.parametrize("part", range(4))
def test_whatever_happens_to_a_rank_the_job_ends_soon_rightly_and_with_its_rows(part: int) -> None:
    chosen = planting.spread(planting.faults(seed=1), runs=40)
    assert planting.failures(chosen[part::4]) == []
