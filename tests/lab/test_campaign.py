"""A few labs in a row, one of them killed; `campaign.py` runs more."""

from campaign import campaign


def test_nothing_is_left_of_labs_in_a_row() -> None:
    assert len(campaign(labs=5, seed=1)) == 5
