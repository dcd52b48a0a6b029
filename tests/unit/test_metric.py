import pytest

from dpbench.results.metric import Rates, bus_factor, rates

MIB = 2**20


@pytest.mark.parametrize(("workers", "factor"), [(1, None), (2, 1.0), (3, 4 / 3), (4, 1.5), (8, 1.75)])
def test_the_factor_is_that_of_the_operation(workers: int, factor: float | None) -> None:
    assert bus_factor(workers) == factor


@pytest.mark.parametrize("workers", [2, 3, 4, 8])
def test_rates_are_size_over_time_and_the_factor_applied_once(workers: int) -> None:
    found = rates(64 * MIB, 0.01, ranks=workers, workers=workers)
    assert found.algbw == pytest.approx(6.7108864)
    assert found.busbw == pytest.approx(6.7108864 * 2 * (workers - 1) / workers)


def test_a_gigabyte_is_ten_to_the_ninth() -> None:
    assert rates(1_000_000_000, 1.0, ranks=2, workers=2) == Rates(algbw=1.0, busbw=1.0)


def test_dedicated_servers_do_not_count_as_workers() -> None:
    assert rates(10**9, 1.0, ranks=5, workers=4) == Rates(1.0, 1.5)


def test_a_single_worker_with_a_server_has_no_bus_bandwidth() -> None:
    assert rates(10**9, 1.0, ranks=2, workers=1) == Rates(1.0, None)


@pytest.mark.parametrize(("size", "seconds", "ranks"), [(0, 1e-6, 4), (4096, 1e-6, 1), (4096, 0.0, 4)])
def test_where_nothing_travels_or_no_time_passes_rates_are_not_defined(
    size: int, seconds: float, ranks: int
) -> None:
    assert rates(size, seconds, ranks, ranks) == Rates(None, None)
