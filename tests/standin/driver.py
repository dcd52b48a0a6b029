"""A GPU for machines that have none: how to run a Python program as if there were one.

The environment of `environment` makes any program, on any number of ranks, find
- the stand-in driver (libcuda.c): its device memory kills with SIGSEGV whoever touches it but by the driver;
- a double of CuPy on it (fakecupy), whose streams do nothing until they are waited for;
- with `aware`, the UCX of the package libucx-cu13 in the place of the MPI library's own, so that the plain wheels of
  Open MPI and MPICH take device pointers, point to point. A message of an MPICH rank to itself is none of UCX's.

    mpirun(2, "-m", "dpbench", "--device", "cuda", env=environment(aware=True))

More variables: STANDIN_DEVICES and CUDA_VISIBLE_DEVICES (see libcuda.c), UCX_TLS.
"""

import atexit
import importlib.util
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

# What makes UCX look into memory before it touches it, and what makes the MPI library leave every message to UCX.
AWARE = {
    "UCX_MEMTYPE_CACHE": "n",
    "UCX_TLS": "self,sm,cuda_copy",
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_CH4_NETMOD": "ucx",
}


def environment(aware: bool) -> dict[str, str]:
    """Return the variables to add. Fails the test that asks where something needed is not installed."""
    libraries = [stand_in(), cuda_ucx()] if aware else [stand_in()]
    return {
        "LD_LIBRARY_PATH": joined(*libraries, before="LD_LIBRARY_PATH"),
        "PYTHONPATH": joined(HERE / "fakecupy", ROOT, before="PYTHONPATH"),
        **(AWARE if aware else {}),
    }


def joined(*folders: Path, before: str) -> str:
    """Return a search path: the folders, then what the variable `before` has."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get(before)])])


@cache
def stand_in() -> Path:
    """Build the stand-in driver and return its folder. It is also the NVML that UCX asks for, an empty one."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.fail("the stand-in driver needs a C compiler: apt install gcc", pytrace=False)
    folder = Path(tempfile.mkdtemp(prefix="dpbench-standin-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name = "libcuda.so.1"
    options = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-Wl,-soname,{name}"]
    built = subprocess.run(
        [compiler, *options, "-o", folder / name, HERE / "libcuda.c", "-ldl", "-pthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        pytest.fail(f"the stand-in driver does not compile:\n{built.stderr}", pytrace=False)
    (folder / "libnvidia-ml.so.1").symlink_to(name)
    return folder


@cache
def cuda_ucx() -> Path:
    """Return the folder of UCX with CUDA."""
    found = importlib.util.find_spec("libucx")
    if found is None or not found.submodule_search_locations:
        pytest.fail("CUDA-aware MPI without a GPU needs UCX: pip install libucx-cu13", pytrace=False)
    return Path(found.submodule_search_locations[0]) / "lib"
