"""Counted traffic equals the closed forms: S elements on N ranks, K servers, W workers."""

from itertools import chain

import pytest

from dpbench.schedule.count import Traffic, total, traffic, written
from dpbench.schedule.partition import part, sliced
from dpbench.schedule.round import Copy, Recv, Round, Send
from dpbench.strategies.base import Roles, Scheduled
from dpbench.strategies.registry import strategies


def rounds_of(name: str, rank: int, roles: Roles, count: int, slices: int = 1) -> list[Round]:
    strategy = strategies()[name]
    assert isinstance(strategy, Scheduled)
    return list(chain(*sliced(lambda lo, hi: strategy.rounds(rank, roles, lo, hi), count, slices)))


def totals(name: str, roles: Roles, count: int, slices: int = 1, itemsize: int = 4) -> list[Traffic]:
    return [
        total(traffic(rounds_of(name, rank, roles, count, slices), itemsize)) for rank in range(roles.ranks)
    ]


def sizes(traffics: list[Traffic]) -> list[tuple[int, int]]:
    return [(one.sent, one.received) for one in traffics]


RANKS = range(1, 33)
SLICES = (1, 2, 5)


@pytest.mark.parametrize("slices", SLICES)
@pytest.mark.parametrize("ranks", RANKS)
def test_a_working_master_carries_everybodys_gradient(ranks: int, slices: int) -> None:
    roles = strategies()["ps"].roles(ranks)
    traffics = totals("ps", roles, 1000, slices)
    assert sizes(traffics) == [(4000 * (ranks - 1),) * 2] + [(4000, 4000)] * (ranks - 1)
    assert sum(one.sent for one in traffics) == 2 * (ranks - 1) * 4000


@pytest.mark.parametrize("slices", SLICES)
@pytest.mark.parametrize("ranks", RANKS[1:])
def test_a_dedicated_server_carries_one_gradient_more(ranks: int, slices: int) -> None:
    roles = strategies()["ps"].roles(ranks, dedicated=True)
    workers = ranks - 1
    assert sizes(totals("ps", roles, 1000, slices)) == [(4000 * workers,) * 2] + [(4000, 4000)] * workers


@pytest.mark.parametrize("slices", SLICES)
@pytest.mark.parametrize(
    ("ranks", "servers"), [(n, k) for n in RANKS for k in sorted({1, 2, 3, n}) if k <= n]
)
def test_working_servers_share_the_load(ranks: int, servers: int, slices: int) -> None:
    roles = strategies()["sharded-ps"].roles(ranks, servers)
    count = 10 * slices * servers
    size = 4 * count
    traffics = totals("sharded-ps", roles, count, slices)
    server = (ranks + servers - 2) * size // servers
    assert sizes(traffics) == [(server, server)] * servers + [(size, size)] * (ranks - servers)
    assert max(one.busiest for one in traffics) == (server if ranks == servers else max(size, server))
    assert sum(one.sent for one in traffics) == 2 * (ranks - 1) * size


@pytest.mark.parametrize("slices", SLICES)
@pytest.mark.parametrize(
    ("ranks", "servers"), [(n, k) for n in RANKS for k in sorted({1, 2, 3, n // 2}) if 0 < k < n]
)
def test_dedicated_servers_share_the_load(ranks: int, servers: int, slices: int) -> None:
    roles = strategies()["sharded-ps"].roles(ranks, servers, dedicated=True)
    workers, count = ranks - servers, 10 * slices * servers
    size = 4 * count
    traffics = totals("sharded-ps", roles, count, slices)
    assert sizes(traffics) == [(workers * size // servers,) * 2] * servers + [(size, size)] * workers
    assert max(one.busiest for one in traffics) == max(size, workers * size // servers)
    assert sum(one.sent for one in traffics) == 2 * workers * size


@pytest.mark.parametrize("slices", SLICES)
@pytest.mark.parametrize("ranks", RANKS)
def test_all_ring_ranks_carry_the_same(ranks: int, slices: int) -> None:
    size = 4 * 10 * slices * ranks
    traffics = totals("ring", Roles(ranks, range(ranks)), size // 4, slices)
    assert sizes(traffics) == [(2 * (ranks - 1) * size // ranks,) * 2] * ranks


@pytest.mark.parametrize("slices", SLICES)
@pytest.mark.parametrize("ranks", RANKS[1:])
def test_a_ring_with_uneven_chunks_misses_two_of_them_each_way(ranks: int, slices: int) -> None:
    for count in (ranks - 1, ranks + 1, 4097):
        cuts = [part(0, count, slices, j) for j in range(slices)]
        chunks = [
            sum(hi - lo for lo, hi in (part(*cut, ranks, index) for cut in cuts)) for index in range(ranks)
        ]
        traffics = totals("ring", Roles(ranks, range(ranks)), count, slices, itemsize=1)
        for rank, (sent, received) in enumerate(sizes(traffics)):
            one, two = chunks[(rank + 1) % ranks], chunks[(rank + 2) % ranks]
            assert sent == 2 * count - one - two
            assert received == 2 * count - chunks[rank] - one


@pytest.mark.parametrize("dedicated", [False, True])
@pytest.mark.parametrize("ranks", RANKS[1:])
def test_one_shard_is_the_parameter_server(ranks: int, dedicated: bool) -> None:
    one = totals("sharded-ps", strategies()["sharded-ps"].roles(ranks, 1, dedicated), 4097, 5)
    assert one == totals("ps", strategies()["ps"].roles(ranks, dedicated=dedicated), 4097, 5)


def test_traffic_is_told_by_phase_in_order() -> None:
    roles = strategies()["ps"].roles(4)
    assert traffic(rounds_of("ps", 0, roles, 10, 2), 8) == {
        "push": Traffic(received=240, messages_received=6),
        "pull": Traffic(sent=240, messages_sent=6),
    }
    phases = traffic(rounds_of("ring", 1, Roles(4, range(4)), 8), 2)
    assert phases == {"reduce-scatter": Traffic(12, 12, 3, 3), "all-gather": Traffic(12, 12, 3, 3)}
    assert list(phases) == ["reduce-scatter", "all-gather"]
    assert total(phases) == Traffic(24, 24, 6, 6)


def test_nothing_is_sent_by_one_rank_or_of_nothing() -> None:
    for name in ("ps", "sharded-ps", "ring"):
        assert totals(name, strategies()[name].roles(1), 1000) == [Traffic()]
        assert totals(name, strategies()[name].roles(3), 0, 2) == [Traffic()] * 3


def test_the_busier_direction_counts() -> None:
    assert Traffic(sent=3, received=5).busiest == 5
    assert Traffic(sent=7, received=5).busiest == 7


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("name", ["ps", "sharded-ps", "ring"])
def test_a_rank_of_2048_counts_its_own_schedule_alone(name: str, rank: int) -> None:
    count = 2048 * 64
    rounds = rounds_of(name, rank, strategies()[name].roles(2048), count)
    busiest = {"ps": count if rank else 2047 * count}.get(name, 2 * 2047 * count // 2048)
    assert total(traffic(rounds, 1)).busiest == busiest
    assert written(rounds) == [(0, count)]


@pytest.mark.parametrize("slices", SLICES)
def test_a_worker_writes_all_and_a_dedicated_server_its_shard(slices: int) -> None:
    roles = strategies()["sharded-ps"].roles(5, 2, dedicated=True)
    for server in range(2):
        shards = [part(*part(0, 1001, slices, j), 2, server) for j in range(slices)]
        assert written(rounds_of("sharded-ps", server, roles, 1001, slices)) == shards
    for worker in range(2, 5):
        assert written(rounds_of("sharded-ps", worker, roles, 1001, slices)) == [(0, 1001)]


def test_written_is_what_is_received_or_copied() -> None:
    rounds = [
        Round("one", sends=(Send(1, "input", 0, 9),), recvs=(Recv(1, 4, 6, "first"),)),
        Round("two", recvs=(Recv(1, 4, 6, "add"),), local=(Copy(0, 1), Copy(6, 8))),
    ]
    assert written(rounds) == [(0, 1), (4, 8)]
    assert written([]) == []
