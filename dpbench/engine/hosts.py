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


def allowed_cores() -> set[int]:
    """Return the cores that this process may run on, by number."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def crowd(allowed: Sequence[set[int]]) -> tuple[list[int], set[int]]:
    """Return which ranks of a machine cannot each have a core, and the cores, too few, that those are confined to.

    Both are empty if every rank can have one for itself of the cores that it is `allowed`. From a maximum matching, by
    augmenting paths: too few are those that a rank without a core can reach (Dulmage and Mendelsohn, 1958).
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

    scarce: set[int] = set()
    for rank in range(len(allowed)):
        tried: set[int] = set()
        if not place(rank, tried):
            scarce |= tried
    return [rank for rank, cores in enumerate(allowed) if cores <= scarce], scarce
