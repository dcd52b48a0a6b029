import pytest

from dpbench.results.link import Link, Load, addition_s, limit_s

LINK = Link(latency_s=50e-6, one_way=24e6, rank=23e6, node=40e6, addition=22e9)


def test_the_limit_is_the_busiest_rank_where_a_node_has_one() -> None:
    assert limit_s(Load(rank=46_000_000, node=46_000_000, added=0), LINK) == pytest.approx(2.0)


def test_the_limit_is_the_node_where_its_ranks_together_exceed_it() -> None:
    assert limit_s(Load(rank=23_000_000, node=80_000_000, added=0), LINK) == pytest.approx(2.0)


def test_additions_have_a_limit_of_their_own() -> None:
    assert addition_s(Load(rank=0, node=0, added=44_000_000_000), LINK) == pytest.approx(2.0)
