"""What this process could compute on. Nothing here needs a GPU, a driver or CuPy to be there."""

import importlib
import importlib.util
from typing import NamedTuple

NO_DEVICE = 100  # cudaErrorNoDevice

DEVICES = ("cpu", "cuda", "cuda-staged")


class Obstacle(NamedTuple):
    """Why something cannot be used, and the remedy."""

    fact: str
    remedy: str


def missing_for_cuda() -> Obstacle | None:
    """Return what stands between this process and a GPU; None if nothing does."""
    if importlib.util.find_spec("cupy") is None:
        return Obstacle("CuPy is not installed", "pip install cupy-cuda12x or, with CUDA 13, cupy-cuda13x")
    try:
        runtime = importlib.import_module("cupy").cuda.runtime
    except Exception as error:  # its own checks of libraries and versions raise many kinds
        return Obstacle(f"CuPy cannot be imported ({error})", "reinstall the one that suits this machine")
    try:
        # Without a driver CuPy would complain that the driver is too old.
        if runtime.driverGetVersion() == 0:
            return Obstacle("there is no NVIDIA driver", "run where there is a GPU, or use --device cpu")
        devices = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        devices = 0
        if error.status != NO_DEVICE:
            return Obstacle(f"the NVIDIA driver cannot be used ({error})", "see what nvidia-smi says")
    if devices == 0:
        return Obstacle("the driver shows no GPU", "ask for one (--gpus-per-node), or mend CUDA_VISIBLE_DEVICES")
    return None


def ordinal_of(local_rank: int) -> int:
    """Return the GPU of a rank: its number on the node, modulo the GPUs it sees; a single one is everybody's."""
    runtime = importlib.import_module("cupy").cuda.runtime
    return local_rank % int(runtime.getDeviceCount())
