"""Starting real ranks from a test, with the mpiexec of the MPI that mpi4py is bound to, and ending them all.

The process of the tests never loads MPI: an MPI program cannot start another one reliably.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dpbench.engine.library import local_launcher

# A mark that all descendants inherit. Sessions would not do: MPICH's launcher gives every rank its own.
MARK = "DPBENCH_TEST_JOB"

SHARED = Path("/dev/shm")
LIBRARIES_FILES = ("mpich_shm_", "sm_segment.", "vader_segment.", "ucx_shm_")

launcher = cache(local_launcher)


class Finished(NamedTuple):
    """How a job ended."""

    returncode: int
    stdout: str
    stderr: str


class TimedOut(AssertionError):
    """A job took too long and was killed; the message has the end of its output."""


def mpirun(ranks: int, *args: str, env: Mapping[str, str] | None = None, timeout: float = 60) -> Finished:
    """Run `python *args` on `ranks` ranks, `env` added to the environment, and return how it ended.

    Raises TimedOut after `timeout` seconds. No process of the job outlives the call.
    """
    command, environ = launcher()
    return run([*command, "-n", str(ranks), sys.executable, *args], environ | dict(env or {}), timeout)


def run(command: list[str], environ: Mapping[str, str], timeout: float) -> Finished:
    """Run a command in a session of its own and end all of its processes, however it ends."""
    mark = f"{MARK}={uuid.uuid4().hex}"
    there_before = set(SHARED.iterdir()) if SHARED.exists() else set()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**environ, MARK: mark.partition("=")[2]},
        start_new_session=True,
    ) as job:
        try:
            stdout, stderr = job.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end_all(job.pid, mark)
            stdout, stderr = job.communicate()
            raise TimedOut(f"over {timeout} s: {command}\n{stdout[-2000:]}\n{stderr[-2000:]}") from None
        finally:
            end_all(job.pid, mark)
            remove_unused(there_before)
    return Finished(job.returncode, stdout, stderr)


def remove_unused(keep: set[Path]) -> None:
    """Remove what killed ranks left in shared memory: files of the MPI libraries that nobody has mapped."""
    left = [path for path in SHARED.glob("*") if path not in keep and path.name.startswith(LIBRARIES_FILES)]
    if left:
        maps = "".join(text_of(folder / "maps") for folder in Path("/proc").iterdir() if folder.name.isdigit())
        for path in left:
            if path.is_file() and str(path) not in maps:
                path.unlink(missing_ok=True)


def text_of(path: Path) -> str:
    """Return what a file says, nothing if it is gone or another user's."""
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""


def end_all(session: int, mark: str) -> None:
    """Kill every process of the session or with the mark in its environment, until none is left."""
    if not Path("/proc/self/environ").exists():
        with suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)
        return
    deadline = time.monotonic() + 10
    ended = {session}
    while left := list(survivors(session, mark)):
        assert time.monotonic() < deadline, f"processes {left} cannot be killed"
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended.update(left)
        time.sleep(0.01)
    # A killed launcher of Open MPI leaves its folder, and no later one with its process id could start.
    for pid in ended:
        shutil.rmtree(Path(tempfile.gettempdir(), f"ompi.{pid}"), ignore_errors=True)


def survivors(session: int, mark: str) -> Iterator[int]:
    """Yield the living processes of the session, or with the mark."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state, _, _, its_session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            environ = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # it ended, or it is another user's
            continue
        if state not in "ZX" and (int(its_session) == session or mark.encode() in environ):
            yield int(folder.name)
