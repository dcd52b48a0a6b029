"""A part of the campaign, drawn so that every kind of fault is in it; `make faults` plants all of them."""

import campaign
import pytest

pytestmark = pytest.mark.xdist_group("mpi")  # in turn with the other tests that start ranks


def test_whatever_happens_to_a_rank_the_job_ends_soon_rightly_and_with_its_rows() -> None:
    assert campaign.failures(campaign.spread(campaign.faults(seed=1), runs=40)) == []
