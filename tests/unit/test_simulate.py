"""Every form of every strategy ends with the sum, whatever the interleaving."""

import gc
from collections.abc import Iterator
from itertools import product

import pytest
from plans import plan_of, ring, step_of

from dpbench.schedule.simulate import simulate
from dpbench.schedule.textbook import ring_faults
from dpbench.strategies.base import Scheduled
from dpbench.strategies.registry import strategies

LANES = {1: 1, 2: 2, 5: 2}  # by slices
FEW = 9  # ranks; with more, only one count is sliced


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Plans are many live tuples and no cycles: searching them for garbage would only cost time."""
    gc.disable()
    yield
    gc.enable()


def forms(ranks: int) -> Iterator[tuple[str, int | None, bool]]:
    """Every strategy in every form that so many ranks can take: name, servers, dedicated."""
    yield from ((name, None, False) for name, one in strategies().items() if isinstance(one, Scheduled))
    yield from (("sharded-ps", servers, False) for servers in sorted({1, 2, 3} - {ranks}) if servers <= ranks)
    if ranks > 1:
        yield "ps", None, True
        yield "sharded-ps", None, True
    yield from (("sharded-ps", servers, True) for servers in (1, 2, 3) if servers < ranks)


def counts(ranks: int) -> list[int]:
    return sorted({0, 1, 2, ranks - 1, ranks, ranks + 1, 1000, 4097})


@pytest.mark.parametrize(
    ("ranks", "name", "servers", "dedicated"), [(n, *form) for n in range(1, 33) for form in forms(n)]
)
def test_every_worker_ends_with_the_sum(ranks: int, name: str, servers: int | None, dedicated: bool) -> None:
    roles = strategies()[name].roles(ranks, servers, dedicated)
    for count, (slices, lanes) in product(counts(ranks), LANES.items()):
        if ranks <= FEW or slices == 1 or count == 4097:
            plan = plan_of(name, roles, count, slices)
            faults = simulate(plan, count, roles.workers, lanes=lanes, seed=ranks + slices)
            assert not faults, f"count {count}, slices {slices}: {faults[0]}"


@pytest.mark.parametrize(
    ("ranks", "name", "servers", "dedicated"), [(n, *form) for n in range(1, 10) for form in forms(n)]
)
def test_a_training_step_updates_every_workers_weights_once_by_the_sum(
    ranks: int, name: str, servers: int | None, dedicated: bool
) -> None:
    roles = strategies()[name].roles(ranks, servers, dedicated)
    for count in counts(ranks):
        for slices, lanes in LANES.items():
            plan = step_of(name, roles, count, slices)
            faults = simulate(plan, count, roles.workers, lanes=lanes, seed=ranks + slices, target="weights")
            assert not faults, f"count {count}, slices {slices}: {faults[0]}"


@pytest.mark.parametrize("ranks", range(1, 33))
def test_the_ring_is_the_textbooks(ranks: int) -> None:
    for count, slices in ((0, 1), (ranks - 1, 1), (ranks + 1, 1), (1000, 2)):
        assert not list(ring_faults(ring(ranks, count, slices), count))


@pytest.mark.parametrize("credits", [1, 2])
@pytest.mark.parametrize("lanes", [1, 3, 7])
@pytest.mark.parametrize("form", list(forms(5)))
def test_no_interleaving_and_no_number_of_posted_receives_makes_a_difference(
    form: tuple[str, int | None, bool], lanes: int, credits: int
) -> None:
    roles = strategies()[form[0]].roles(5, *form[1:])
    plan = plan_of(form[0], roles, 1000, 7)
    for seed in range(10):
        assert not simulate(plan, 1000, roles.workers, lanes=lanes, credits=credits, seed=seed)
