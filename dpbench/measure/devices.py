"""Choosing the devices: what was asked for, what every rank has, and what its MPI library can be given."""

import faulthandler
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dpbench.devices.base import Device
from dpbench.devices.cpu import NumpyDevice
from dpbench.devices.inventory import Obstacle, missing_for_cuda, ordinal_of
from dpbench.devices.nvml import gpus
from dpbench.engine.gpu_aware import Awareness, Trial, awareness, query, trial, ucx_with_cuda
from dpbench.environment import local_rank_hint
from dpbench.errors import PlatformError
from dpbench.measure.agree import said_by_root

if TYPE_CHECKING:
    from dpbench.engine.world import World

Identity = tuple[int, str]
"""Of a GPU: the leader of its node, and its UUID."""

SHOWN = 3  #: GPUs that are shared, in the notes

CRASH = (
    "GPU memory is handed to the MPI library now: if it crashes here (signal 11), it cannot take device pointers, "
    "and --device cuda-staged or an MPI library built for GPUs is the remedy"
)

BY_WORD = "only --gpu-aware yes says that the MPI library takes GPU memory: it may copy it through the host"


@dataclass(frozen=True)
class Finding:
    """What one rank found out before MPI was started."""

    missing: Obstacle | None
    trial: Trial


@dataclass(frozen=True)
class Chosen:
    """The devices to measure on, in order, and what is to be said about them."""

    devices: tuple[Device, ...]
    gpus: tuple["Identity", ...] = ()  #: of every rank, where one of them is a GPU
    notes: tuple[str, ...] = ()
    is_cut: bool = False  #: whether some GPU is cut into slices (MIG)
    paths: dict[str, str] = field(default_factory=dict)  #: by device: why it may not be its memory that travels
    trusts_collectives: bool = False  #: whether the MPI library's own collectives may be given device memory

    def scopes(self, ranks: Sequence[int], nodes: int) -> dict[str, str]:
        """Return what exchanges of these ranks, on so many nodes, cross; by device."""
        host = "network" if nodes > 1 else "host-memory"
        shared = shared_gpus([self.gpus[rank] for rank in ranks] if self.gpus else [])
        return {device.name: scope_of(device.name, host, bool(shared)) for device in self.devices}

    def sharing(self, ranks: Sequence[int]) -> tuple[str, ...]:
        """Return which of these ranks have no whole GPU to themselves."""
        shared = shared_gpus([self.gpus[rank] for rank in ranks] if self.gpus else [])
        named = {gpu: [ranks[index] for index in users] for gpu, users in shared.items()}
        return (*sharing_of(named), *(["a GPU is cut into slices (MIG)"] if self.is_cut else []))


def look_around(devices: tuple[str, ...], gpu_aware: str) -> Finding:
    """Find out what can be found out before MPI is started: the trial must not be a child of an MPI process."""
    if devices == ("cpu",):
        return Finding(None, "not tried")
    missing = missing_for_cuda()
    tries = missing is None and gpu_aware == "auto" and devices != ("cuda-staged",) and local_rank_hint() in (0, None)
    return Finding(missing, trial() if tries else "not tried")


def choose(world: "World", asked: tuple[str, ...], gpu_aware: str, found: Finding) -> Chosen:
    """Return the devices, the same on every rank. Raises PlatformError, on every rank, if one cannot be had."""
    if asked == ("cpu",):
        return Chosen((NumpyDevice(),))
    verdict = Awareness(False, "")
    obstacle = first_obstacle(world, found.missing)
    if obstacle is None and asked != ("cuda-staged",):
        verdict = agreed_awareness(world, gpu_aware, found.trial)
    reason = obstacle or (None if verdict.aware else not_aware(world, verdict))
    if asked == ("auto",):
        if reason is not None:
            note = f"--device auto is cpu: {reason.fact}"
            paths = {} if obstacle else {"cpu": f"there are GPUs, but {note}"}
            return Chosen((NumpyDevice(),), notes=(note,), paths=paths)
        asked = ("cuda",)
    for name in asked:
        needed = {"cpu": None, "cuda": reason, "cuda-staged": obstacle}[name]
        if needed is not None:
            raise said_by_root(world, PlatformError(f"--device {name}: {needed.fact}: {needed.remedy}"))
    by_word = gpu_aware == "yes" and not verdict.by_query
    return replace(chosen_gpus(world, asked, verdict), paths={"cuda": BY_WORD} if by_word else {})


def require(world: "World", option: str, found: Obstacle | None) -> None:
    """Raise PlatformError, on every rank, if any rank has found an obstacle to what an option asks for."""
    obstacle = first_obstacle(world, found)
    if obstacle is not None:
        raise said_by_root(world, PlatformError(f"{option}: {obstacle.fact}: {obstacle.remedy}"))


def first_obstacle(world: "World", found: Obstacle | None) -> Obstacle | None:
    """Return the first rank's obstacle, with its host; the same on every rank."""
    for rank, each in enumerate(world.gather(found)):
        if each is not None:
            return Obstacle(f"{each.fact} (rank {rank} on {world.host(rank)})", each.remedy)
    return None


def agreed_awareness(world: "World", gpu_aware: str, tried: Trial) -> Awareness:
    """Return the first verdict that says no, else rank 0's; a node's first rank has tried for all of its ranks."""
    trials = world.gather(tried)
    mine = awareness(gpu_aware, query(), ucx_with_cuda(), trials[world.leaders[world.rank]])
    verdicts: list[Awareness] = world.gather(mine)
    return next((verdict for verdict in verdicts if not verdict.aware), verdicts[0])


def not_aware(world: "World", verdict: Awareness) -> Obstacle:
    """Return why device memory cannot be handed to MPI."""
    return Obstacle(
        f"{world.library} is not known to take GPU memory ({verdict.why})",
        "use --device cuda-staged, or an MPI library built for GPUs (see the README, On GPUs), or --gpu-aware yes "
        "if you know better",
    )


def chosen_gpus(world: "World", asked: tuple[str, ...], verdict: Awareness) -> Chosen:
    """Return the devices of this rank, one GPU for all of them."""
    from dpbench.devices.cuda import CudaDevice, StagedCudaDevice, identity_of

    gpu = ordinal_of(world.local_rank)
    kinds: dict[str, Callable[[], Device]] = {
        "cpu": NumpyDevice,
        "cuda": lambda: CudaDevice(gpu),
        "cuda-staged": lambda: StagedCudaDevice(gpu),
    }
    if "cuda" in asked:
        faulthandler.enable()
    identities: list[Identity] = world.gather((world.leaders[world.rank], identity_of(gpu)))
    notes = list(sharing_of(shared_gpus(identities)))
    if "cuda" in asked:
        notes.append(f"MPI is given GPU memory: {verdict.why}")
    return Chosen(
        tuple(kinds[name]() for name in asked),
        tuple(identities),
        tuple(notes),
        is_cut=any(world.gather(any(each.get("mig") for each in gpus()))),
        trusts_collectives=verdict.by_query,
    )


def scope_of(name: str, host: str, shared: bool) -> str:
    """Return what a device's exchanges cross; host memory, the network or a host's cross `host`."""
    if name == "cpu":
        return host
    if shared:
        return "shared-gpu"
    return "intra-node-gpu" if name == "cuda" and host == "host-memory" else host


def sharing_of(sharing: dict[str, list[int]]) -> Iterator[str]:
    """Yield a note for each of the first GPUs that ranks share, and how many more there are."""
    for gpu, ranks in list(sharing.items())[:SHOWN]:
        yield f"ranks {', '.join(map(str, ranks))} share GPU {gpu}"
    if len(sharing) > SHOWN:
        yield f"and {len(sharing) - SHOWN} more GPUs are shared"


def shared_gpus(identities: Sequence[Identity]) -> dict[str, list[int]]:
    """Return the ranks of each GPU that has more than one; a GPU is known by its node and its UUID."""
    users: dict[Identity, list[int]] = {}
    for rank, identity in enumerate(identities):
        users.setdefault(identity, []).append(rank)
    return {gpu: ranks for (_, gpu), ranks in users.items() if len(ranks) > 1}
