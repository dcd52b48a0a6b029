"""Which ranks are on one host, and which cores they may use there."""

import os
import platform
import uuid
from collections.abc import Sequence
from pathlib import Path

from dpbench.environment import rank_hint, size_hint
from dpbench.hooks import value_of


def machine_identity() -> str:
    """Return what all processes of this machine have in common, whatever their host is called: they share cores."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return boot.read_text().strip() if boot.exists() else str(uuid.getnode())


def host_name() -> str:
    """Return what this host is called; tests may make up names."""
    return value_of("node", rank_hint(), size_hint()) or platform.node()


def host_identity() -> str:
    """Return what all processes of this host have in common, and those of others have not."""
    return f"{host_name()} {machine_identity()}"


def same_node(leaders: list[int], hosts: list[str]) -> list[int]:
    """Return the first rank of each rank's node: ranks share one if MPI says that they share memory, or a host.

    MPI may deny it: MPICH does where it is told not to use shared memory, and a batch system that plays nodes.
    """
    first_of_host: dict[str, int] = {}
    merged = list(leaders)
    for rank, (leader, host) in enumerate(zip(leaders, hosts, strict=True)):
        merged[rank] = min(merged[leader], first_of_host.setdefault(host, merged[leader]))
    return merged


def crowd(cores: Sequence[set[int]]) -> tuple[list[int], set[int]] | None:
    """Return which ranks of a machine, by the `cores` that each may use, are more than these cores; None if none are.

    Of several such groups, the one with the fewest cores for its ranks.
    """
    found = []
    for some in {frozenset(each) for each in cores} | {frozenset().union(*cores)}:
        ranks = [rank for rank, each in enumerate(cores) if each <= some]
        if len(ranks) > len(some):
            found.append((len(some) / len(ranks), sorted(some), ranks))
    _, shared, ranks = min(found, default=(0, [], []))
    return (ranks, set(shared)) if ranks else None


def allowed_cores() -> set[int]:
    """Return the cores that this process may run on, by number."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def with_own_core(allowed: Sequence[set[int]]) -> int:
    """Return how many ranks of one machine can have a core for themselves, each from those that it is allowed.

    A maximum matching, by augmenting paths: ranks bound to overlapping cores may have to share some while others idle.
    """
    users: dict[int, int] = {}

    def place(rank: int, tried: set[int]) -> bool:
        free = allowed[rank] - users.keys()
        if free:
            users[min(free)] = rank
            return True
        for core in allowed[rank] - tried:
            tried.add(core)
            if place(users[core], tried):
                users[core] = rank
                return True
        return False

    return sum(place(rank, set()) for rank in range(len(allowed)))
