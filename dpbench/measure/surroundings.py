"""What surrounds a measurement: software, machine, variables. For `dpbench env`, and for a run's JSON document.

Nothing here starts a process: a child of a process that runs MPI is not safe on every network.
"""

import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench import __version__
from dpbench.devices.nvml import gpus
from dpbench.engine.hosts import allowed_cores, host_name
from dpbench.engine.machine import ROOT, cpu, machine
from dpbench.environment import recorded
from dpbench.units import format_numbers

if TYPE_CHECKING:
    from dpbench.engine.world import World

PACKAGES = ("mpi4py", "numpy", "cupy", "click", "rich", "ml_dtypes")
CUPY = ("cupy", "cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x")  # the names it may be installed under


def surroundings(root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the facts of this process and its machine."""
    return {
        "python": platform.python_version(),
        "packages": packages(),
        **machine(root),
        "gpus": gpus(),
        "variables": recorded(environ),
        "transport": "unknown",  # what hardware there is does not tell what the library uses
    }


def packages() -> dict[str, str | None]:
    """Return the versions of what takes part; None for what is not installed."""
    found = {name: first_version(CUPY if name == "cupy" else (name,)) for name in PACKAGES}
    return {"dpbench": __version__, **found}


def first_version(names: Iterable[str]) -> str | None:
    """Return the version of the first of the packages that is installed."""
    from importlib.metadata import PackageNotFoundError, version  # only some ranks need it, and it takes its time

    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def everybodys_surroundings(world: "World", uses_gpus: bool) -> dict[str, Any]:
    """Return, on rank 0, where each rank is and what surrounds the first of each node; collective."""
    mine = {
        "rank": world.rank,
        "host": world.host(world.rank),
        "local_rank": world.local_rank,
        "cores": format_numbers(allowed_cores()),
        "gpu": own_gpu(world) if uses_gpus else None,
    }
    leads = world.leaders[world.rank] == world.rank
    ranks = world.to_root(mine)
    nodes = world.to_root(surroundings() if leads else None)
    if ranks is None or nodes is None:
        return {}
    return {"mpi_library": world.library_string, "ranks": ranks, "nodes": [node for node in nodes if node]}


def state(root: Path = ROOT) -> dict[str, Any]:
    """Return those of the facts that a run may change, to be compared with the ones before it."""
    processor, clocks = cpu(root), ("index", "clock_MHz", "throttle_bits")
    return {
        "host": host_name(),
        "load_1min": processor["load_1min"],
        "throttled_periods": processor["throttled_periods"],
        "gpus": [{name: gpu.get(name) for name in clocks} for gpu in gpus()],
    }


def everybodys_state(world: "World") -> list[dict[str, Any]]:
    """Return, on rank 0, the state of each node; collective."""
    states = world.to_root(state() if world.leaders[world.rank] == world.rank else None)
    return [each for each in states or () if each]


def own_gpu(world: "World") -> str:
    """Return which GPU this rank computes on."""
    from dpbench.devices.cuda import identity_of
    from dpbench.devices.inventory import ordinal_of

    return identity_of(ordinal_of(world.local_rank))
