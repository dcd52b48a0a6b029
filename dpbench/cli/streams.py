"""The three streams that a program starts with: closed by a shell (`>&-`), or left by their readers (`| head`)."""

import contextlib
import os
import signal
import stat
import sys
from typing import NoReturn


def hold_closed() -> None:
    """Open the null device where a stream is closed: the next file, or the MPI library's socket, would take its place.

    What the library prints would then go there. Python's own `sys.stdout` stays None, so that it is known to be closed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def keep_stdout() -> None:
    """Keep stdout for Python alone: what libraries print there, as UCX its log, goes to stderr and not between rows."""
    if sys.stdout is None or sys.stdout.fileno() != 1:
        return
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = open(own, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: SIM115 - to the end


def outlive_readers() -> None:
    """Let stdout and stderr be read to the end, whoever leaves: mpiexec would end all ranks, or end with them.

    A process of its own stands between, until all who print have ended.
    """
    writers: dict[tuple[int, int], int] = {}
    for descriptor in (1, 2):
        status = os.fstat(descriptor)
        if stat.S_ISFIFO(status.st_mode):
            pipe = status.st_dev, status.st_ino  # 2>&1 is one pipe: its lines stay in order
            if pipe not in writers:
                writers[pipe] = _reader_of_its_own(descriptor)
            os.dup2(writers[pipe], descriptor)


def _reader_of_its_own(descriptor: int) -> int:
    """Return a pipe to write to; a new process passes on to `descriptor` what comes, and takes it if that breaks."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        target = os.dup(descriptor)
        os.close(writer)
        _pass_on(reader, target)
    os.close(reader)
    return writer


def _pass_on(reader: int, target: int) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with those it reads from
    os.set_blocking(target, True)  # a program before us may have left it otherwise
    while data := os.read(reader, 2**16):
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(target, data) :]
    os._exit(0)
