"""What holds until MPI runs: a rank that waits in MPI_Init for one that never comes is ended, with a sentence.

MPI_Init keeps Python from running anything else, so a process of its own looks at the clock.
"""

import os
import select
import signal
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from time import sleep
from typing import NoReturn

from dpbench.engine.ending import tell
from dpbench.engine.hosts import host_name
from dpbench.environment import launch, rank_hint
from dpbench.errors import Exit

PATIENCE_S = 120.0  #: with MPI_Init, at least: a large job needs long for it
ANSWER_S = 1.0
KILLED_S = 5.0  # in which a launcher that was told so ends its ranks


@contextmanager
def in_time(timeout: float | None) -> Iterator[None]:
    """End this process if what is within takes longer than `timeout` (0: never), or PATIENCE_S if that is more."""
    if timeout == 0:
        yield
        return
    patience_s = max(PATIENCE_S, timeout or 0)
    over, begun = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that the child does not have: it needs none
        watcher = os.fork()
    if watcher == 0:
        os.close(begun)
        watch(over, os.getppid(), patience_s)
    os.close(over)
    try:
        yield
    finally:
        os.close(begun)
        with suppress(ChildProcessError):
            os.waitpid(watcher, 0)


def watch(over: int, rank: int, patience_s: float) -> NoReturn:
    """End the process `rank` unless `over` is closed in time."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)  # it ends with the rank
    if not select.select([over], [], [], patience_s)[0]:
        tell(
            f"{place()}: MPI has not started within {patience_s:.0f} s: another rank may have failed before, or the "
            "launcher does not fit; --timeout waits longer"
        )
        end_waiting(Exit.FAILED)
        os.kill(rank, signal.SIGKILL)
    os._exit(0)


def place() -> str:
    """Return which rank this is, as far as that is known without MPI, and its host."""
    rank = rank_hint()
    return f"on {host_name()}" if rank is None else f"rank {rank} on {host_name()}"


def ends_waiting() -> bool:
    """Return whether the launcher ends all ranks when one fails before it has started MPI."""
    found = launch()
    return can_end_waiting() or (found is not None and found.launcher == "Open MPI")


def can_end_waiting(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the launcher listens to ranks that have not started MPI: MPICH's does, on a socket."""
    try:
        return stat.S_ISSOCK(os.fstat(int(environ["PMI_FD"])).st_mode)
    except (KeyError, ValueError, OSError):
        return False


def end_waiting(code: int, *, met: bool = True) -> None:
    """Ask the launcher to end all ranks with `code`: MPICH's and Slurm's would let them wait for this one.

    `met` is whether MPI has spoken to it in this process, for PMI begins with an introduction.
    """
    if not can_end_waiting():
        return
    launcher = int(os.environ["PMI_FD"])
    with suppress(OSError):
        if not met:
            os.write(launcher, b"cmd=init pmi_version=1 pmi_subversion=1\n")
            select.select([launcher], [], [], ANSWER_S)
        os.write(launcher, f"cmd=abort exitcode={code}\n".encode())
        sleep(KILLED_S)
