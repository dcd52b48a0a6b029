"""What all ranks do, for the tests that play it."""

from dpbench.schedule.round import Round
from dpbench.schedule.simulate import programs
from dpbench.strategies.base import Roles, Scheduled
from dpbench.strategies.registry import strategies

Plan = list[list[list[Round]]]


def plan_of(name: str, roles: Roles, count: int, slices: int = 1) -> Plan:
    strategy = strategies()[name]
    assert isinstance(strategy, Scheduled)
    return programs(lambda rank, lo, hi: strategy.rounds(rank, roles, lo, hi), roles.ranks, count, slices)


def step_of(name: str, roles: Roles, count: int, slices: int = 1) -> Plan:
    """A training step."""
    strategy = strategies()[name]
    assert isinstance(strategy, Scheduled)
    return programs(lambda rank, lo, hi: strategy.step(rank, roles, lo, hi), roles.ranks, count, slices)


def ring(ranks: int, count: int = 1000, slices: int = 1) -> Plan:
    return plan_of("ring", Roles(ranks, range(ranks)), count, slices)
