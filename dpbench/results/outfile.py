"""Files that people name: opened before there is anything to write, and never replaced unasked."""

import contextlib
import errno
import os
import stat
import sys
from typing import IO

from dpbench.errors import PlatformError
from dpbench.results.patience import PATIENCE_S, patiently

STDOUT = "-"


def open_output(
    path: str, option: str, example: str, *, force: bool = False, append: bool | None = None
) -> IO[bytes]:
    """Open a file to append to, new or as `force` and `append` allow; devices and pipes as they are.

    `append` is None for a kind of file that cannot be continued. Raises PlatformError with the remedy; `option`
    is what the path was given to, `example` the name of such a file.
    """
    try:
        mode = os.stat(path).st_mode if os.path.exists(path) else stat.S_IFREG
        if not stat.S_ISREG(mode):
            return open(open_device(path), "wb", buffering=0)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        flags |= os.O_TRUNC if force else 0 if append else os.O_EXCL
        return open(os.open(path, flags, 0o666), "wb", buffering=0)
    except OSError as error:
        if isinstance(error, FileExistsError):
            remedies = "replace it with --force, " + ("" if append is None else "continue it with --append, ")
            reason = f"the file exists; {remedies}or name another file"
        else:
            reason = explain(path, error, example)
        raise PlatformError(f"{option} {path}: {reason}") from error


def open_device(path: str) -> int:
    """Return the descriptor of what is no file. A pipe is waited for until somebody reads it, but not for ever."""
    descriptor = patiently(lambda: os.open(path, os.O_WRONLY | os.O_NONBLOCK), errno.ENXIO)
    os.set_blocking(descriptor, True)
    return descriptor


def remove(descriptor: int, path: str) -> None:
    """Remove an open file, unless its name is another one's by now."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            os.unlink(path)


def explain(path: str, error: OSError, example: str) -> str:
    """Return why `path` cannot be opened and what to do."""
    folder = os.path.dirname(path) or "."
    if isinstance(error, IsADirectoryError) or os.path.isdir(path):
        return f"is a folder; name a file in it, as {os.path.join(path, example)}"
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        return f"the folder {folder} does not exist; create it first, or name a file elsewhere"
    if error.errno == errno.ENXIO:
        return f"nobody has read this pipe for {PATIENCE_S:.0f} s; start its reader first"
    return f"{error.strerror}; name a file that you may write"


def save(data: bytes, path: str, option: str, example: str, *, force: bool = False) -> None:
    """Write a whole file at once; `-` is stdout. Raises PlatformError where that cannot be done."""
    if path == STDOUT:
        if sys.stdout is None:  # the shell's >&-
            raise PlatformError(f"{option} -: stdout is closed; name a file instead")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    with open_output(path, option, example, force=force) as file:
        try:
            while data:  # one call, unless a pipe or a full disk takes less
                data = data[file.write(data) :]
        except OSError as error:
            raise PlatformError(f"{option} {path}: cannot be written: {error.strerror or error}") from error
