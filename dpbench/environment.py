"""What environment variables tell: who started this process, and what changes its measurements.

No MPI is needed, and none is asked.
"""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

# Variables that change what is measured, by their beginnings.
RELEVANT = (
    *("OMPI_MCA_", "PMIX_MCA_", "MPIR_CVAR_", "MPICH_", "I_MPI_", "UCX_", "FI_"),
    *("MALLOC_", "GLIBC_TUNABLES", "DPBENCH_"),
)
# Those, and what launchers and batch systems say: these are recorded, and no other ones.
RECORDED = (
    *RELEVANT,
    *("OMPI_", "PMIX_", "PMI_", "PRTE_", "HYDRA_", "MPI_LOCAL", "MV2_", "PALS_", "FLUX_", "SLURM_", "SRUN_"),
    *("CUDA_", "NVIDIA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
)
SECRET = ("TOKEN", "KEY", "SECRET", "PASS", "CRED", "AUTH", "JWT", "COOKIE", "PRIVATE")  # in a name


class Launch(NamedTuple):
    """What a launcher's variables say about this process: hints, which MPI itself may contradict."""

    launcher: str
    rank: int
    size: int | None


# Launchers by the variables of rank and size. The innermost comes first: mpirun in a Slurm job starts its
# helpers with srun, so ranks inherit a helper's SLURM_* and only mpirun's own variables are theirs.
LAUNCHERS = (
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMI", "PMI_RANK", "PMI_SIZE"),
    ("PALS", "PALS_RANKID", "PALS_SIZE"),
    ("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"),
    ("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("Hydra", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # within a node: better than nothing
)

# The launchers whose variables a shell of `srun --pty` may have without any mpirun.
FROM_SRUN = ("PMI", "PMIx", "Slurm")

# Slurm numbers the steps that users start from 0; batch scripts, interactive shells and the like lie above.
SPECIAL_SLURM_STEPS = 0xFFFF_FF00


def launch(environ: Mapping[str, str] = os.environ) -> Launch | None:
    """Return what the launcher says about this process, or None if no launcher started it.

    Batch scripts and interactive shells have some of the variables (SLURM_PROCID=0) but are not ranks.
    """
    for launcher, rank_name, size_name in LAUNCHERS:
        rank, size = number(environ, rank_name), number(environ, size_name)
        if rank is None or (launcher == "Slurm" and not in_slurm_step(environ)):
            continue
        if launcher in FROM_SRUN and size in (None, 1) and "SLURM_PTY_PORT" in environ:
            return None
        return Launch(launcher, rank, size)
    return None


def launched(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether a launcher (mpirun, srun, ...) started this process as one of its ranks."""
    return launch(environ) is not None


def rank_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variables because of which this process counts as a rank; without them it does not."""
    return [name for _, name, _ in LAUNCHERS if number(environ, name) is not None] if launched(environ) else []


def rank_hint(environ: Mapping[str, str] = os.environ) -> int | None:
    """Return this process's rank as the launcher tells it, None if unknown."""
    found = launch(environ)
    return found.rank if found else None


def size_hint(environ: Mapping[str, str] = os.environ) -> int | None:
    """Return the number of ranks as the launcher, or whoever set its variable by hand, tells it."""
    found = launch(environ)
    if found and found.size is not None:
        return found.size
    return next((size for _, size in sizes(environ)), None)


def sizes(environ: Mapping[str, str] = os.environ) -> Iterator[tuple[str, int]]:
    """Yield the variables that tell a number of ranks, and their values."""
    for _, _, name in LAUNCHERS:
        size = number(environ, name)
        if size is not None and (not name.startswith("SLURM_") or in_slurm_step(environ)):
            yield name, size


def set_by_hand(ranks: int, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return a note if a variable tells another number than there are `ranks`, though no launcher set it."""
    wrong = [f"{name}={size}" for name, size in sizes(environ) if size != ranks]
    if not wrong or launched(environ):
        return ()
    return (f"{wrong[0]} is set, but no launcher started this process: there are as many ranks as MPI says, {ranks}",)


def ill_launched(library: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the launcher is known to start no rank of `library`, the MPI library's own description.

    MPICH would end the process, Open MPI complain at length: so ask before MPI is started. Where it is not known,
    the number of ranks tells, afterwards.
    """
    found = launch(environ)
    if found is None:
        return False
    if library.startswith("MPICH Version"):
        return found.launcher == "Open MPI" and "pmix" not in library.lower()
    hydra = found.launcher in ("PMI", "Hydra") and "MPI_LOCALRANKID" in environ and "PMIX_NAMESPACE" not in environ
    return hydra and library.startswith("Open MPI")


def local_rank_hint(environ: Mapping[str, str] = os.environ) -> int | None:
    """Return this process's rank within its node as the launcher tells it, None if unknown."""
    names = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PALS_LOCAL_RANKID")
    return next((rank for name in names if (rank := number(environ, name)) is not None), None)


def speaks(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether this process is the one that prints what all ranks would print."""
    return rank_hint(environ) in (0, None)


def in_slurm_step(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether srun started this process: a batch script has no step, an interactive shell its own."""
    step, tasks = number(environ, "SLURM_STEP_ID"), number(environ, "SLURM_STEP_NUM_TASKS")
    return step is not None and step < SPECIAL_SLURM_STEPS and tasks is not None


def of_helper(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether srun started a helper of mpirun, which started this rank: then SLURM_* tell of the helpers."""
    found = launch(environ)
    told = found.size if found and in_slurm_step(environ) else None
    return told is not None and told != number(environ, "SLURM_STEP_NUM_TASKS")


def number(environ: Mapping[str, str], name: str) -> int | None:
    """Return the variable as a number; None if it is unset or is not one, for variables can hold anything."""
    text = environ.get(name, "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def recorded(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that results are kept with, by name; never one whose name looks like a secret.

    Bytes that are no text come escaped.
    """
    names = sorted(name for name in environ if name.startswith(RECORDED))
    open_names = [name for name in names if not any(word in name.upper() for word in SECRET)]
    return {name: environ[name].encode("utf-8", "backslashreplace").decode() for name in open_names}
