"""That all ranks were started alike, before anything is sent: rank 0 tells how it was, and who differs says so."""

import os
import platform
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpbench import __version__
from dpbench.environment import RELEVANT
from dpbench.errors import DpbenchError, PlatformError, UsageError
from dpbench.measure.agree import said_by_root
from dpbench.measure.options import Options

if TYPE_CHECKING:
    from dpbench.engine.world import World

# Of the relevant variables those that launchers set for each rank, node or part of a job, and choices of a node's own
# hardware.
OWN = (
    *("OMPI_MCA_ess_", "OMPI_MCA_orte_", "OMPI_MCA_prte_", "OMPI_MCA_pmix", "OMPI_MCA_shmem_RUNTIME_QUERY_hint"),
    *("OMPI_MCA_num_procs", "OMPI_MCA_initial_wdir", "OMPI_MCA_cpu_type", "OMPI_MCA_mpi_oversubscribe"),
    *("I_MPI_PIN", "I_MPI_INFO_", "I_MPI_HYDRA_", "MPICH_INTERFACE_HOSTNAME", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME"),
    *("UCX_NET_DEVICES", "FI_CXI_DEVICE_NAME", "FI_TCP_IFACE", "FI_SOCKETS_IFACE", "FI_VERBS_IFACE"),
)

UNHEEDED = ("command", "notes")  # of the options: how they were spelled
SPELLED = {"strategies": "strategy", "devices": "device", "dedicated": "dedicated-servers", "rate": "lr"}
LONGEST = 60  # characters of a value
NAMED = 3  # differences in the message


class Difference(NamedTuple):
    """What differs, as it is on a rank and on rank 0; None where it is not there."""

    what: str
    here: str | None
    on_root: str | None

    @property
    def is_argument(self) -> bool:
        """Whether it was typed."""
        return self.what.startswith("--")

    def __str__(self) -> str:
        """Return both values."""
        return f"{self.what} {short(self.here)} (rank 0: {short(self.on_root)})"


def require_alike(world: "World", options: Options) -> None:
    """Raise, on every rank, UsageError if ranks have different arguments, PlatformError if they differ else."""
    mine = {**arguments(options), **software(world), **variables(os.environ)}
    differing = world.gather(differences(mine, world.from_root(mine)) or None)
    if any(differing):
        raise said_by_root(world, unlike(world, differing))


def arguments(options: Options) -> dict[str, str]:
    """Return the options, as they could be typed."""
    given = {name: value for name, value in vars(options).items() if name not in (*UNHEEDED, "training")}
    if options.training is not None:
        given |= vars(options.training)
    return {f"--{SPELLED.get(name, name).replace('_', '-')}": text_of(value) for name, value in given.items()}


def text_of(value: Any) -> str:
    """Return the value of an option."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def software(world: "World") -> dict[str, str]:
    """Return the versions of what takes part."""
    return {
        "dpbench": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "mpi4py": world.binding,
        "MPI library": world.library,
        "byte order": sys.byteorder,
    }


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that should be the same everywhere."""
    return {name: environ[name] for name in environ if name.startswith(RELEVANT) and not name.startswith(OWN)}


def differences(mine: Mapping[str, str], roots: Mapping[str, str]) -> list[Difference]:
    """Return what differs, in the order of rank 0."""
    names = dict.fromkeys([*roots, *mine])
    return [Difference(name, mine.get(name), roots.get(name)) for name in names if mine.get(name) != roots.get(name)]


def unlike(world: "World", differing: list[list[Difference] | None]) -> DpbenchError:
    """Return the error about the first rank with other arguments than rank 0, or else about the first that differs."""
    found = {rank: each for rank, each in enumerate(differing) if each}
    typed = {rank: each for rank, each in found.items() if each[0].is_argument}
    rank, each = next(iter((typed or found).items()))
    named = [str(one) for one in each if one.is_argument == bool(typed)]
    text = "; ".join(named[:NAMED]) + (f"; and {len(named) - NAMED} more" if len(named) > NAMED else "")
    others = f" (so do {len(found) - 1} more ranks)" if len(found) > 1 else ""
    where = f"rank {rank} on {world.host(rank)}"
    if typed:
        return UsageError(f"{where} has other arguments than rank 0{others}: {text}; give all ranks the same")
    return PlatformError(f"{where} was started otherwise than rank 0{others}: {text}; make them the same everywhere")


def short(value: str | None) -> str:
    """Return a value for a message."""
    if value is None:
        return "unset"
    return value if len(value) <= LONGEST else value[: LONGEST - 1] + "…"
