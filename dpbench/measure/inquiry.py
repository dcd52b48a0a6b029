"""What only a process of its own can find out: which MPI library is loaded, and whether CuPy works."""

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

from dpbench.devices.inventory import Obstacle, missing_for_cuda
from dpbench.engine.gpu_aware import trial
from dpbench.engine.library import PATIENCE_S, bound_library, find_mpiexec
from dpbench.errors import PlatformError

ASK_CUPY = """
import json
from dpbench.devices.inventory import missing_for_cuda
print(json.dumps(missing_for_cuda()))
"""


def mpi() -> dict[str, str | None]:
    """Return what the MPI library says of itself, where it is, and its launcher; or why there is none."""
    found: dict[str, str | None] = dict.fromkeys(("library", "path", "launcher", "error", "launcher_error"))
    try:
        library = bound_library()
        found |= {"library": library.version.rstrip("\0").strip(), "path": library.path}
    except (PlatformError, OSError, ValueError) as error:
        return {**found, "error": str(error)}
    try:
        found["launcher"] = find_mpiexec(library)
    except PlatformError as error:
        found["launcher_error"] = str(error)
    return found


def cuda() -> dict[str, Any]:
    """Return whether gradients can live on a GPU here, and whether MPI takes them from there."""
    obstacle = obstacle_to_cupy() if find_spec("cupy") else missing_for_cuda()
    if obstacle is not None:
        return {"usable": False, "obstacle": obstacle.fact, "remedy": obstacle.remedy, "mpi_takes_gpu_memory": None}
    return {"usable": True, "obstacle": None, "remedy": None, "mpi_takes_gpu_memory": trial()}


def obstacle_to_cupy() -> Obstacle | None:
    """Return what stands between CuPy and a GPU; a broken one may end the process that asks."""
    command = [sys.executable, "-c", ASK_CUPY]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S, check=True
        )
        said = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        return Obstacle(f"CuPy does not start ({type(error).__name__})", "reinstall the one that suits this machine")
    return Obstacle(*said) if said else None
