"""A file that is replaced as a whole, so that it holds a valid document at any moment."""

import contextlib
import errno
import os
import platform
import stat
from typing import IO

from dpbench.errors import DpbenchError, PlatformError, ReaderLeft
from dpbench.results.csvfile import unbuffered_stdout
from dpbench.results.outfile import STDOUT, explain, open_output

OPTION, EXAMPLE = "--json", "dpbench.json"
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class JsonFile:
    """Where a document goes; made by `open_json`. A stream gets it once, at the end."""

    def __init__(self, path: str, stream: IO[bytes] | None = None, force: bool = False) -> None:
        self.path = path
        self._stream = stream
        self._last = b""
        self._target = os.path.realpath(path)
        name = f".dpbench-{platform.node()[:99]}-{os.getpid()}.part"  # another run may replace the same file
        self._beside = os.path.join(os.path.dirname(self._target), name)
        self._is_mine = force  #: whether a file of this name may be replaced
        self._is_new = not os.path.lexists(path)

    def write(self, data: bytes) -> None:
        """Replace the document; it is on the disk when this returns. Raises PlatformError if it cannot be."""
        self._last = data
        if self._stream is not None:
            return
        try:
            with open(self._beside, "wb", buffering=0) as file:
                put(file.fileno(), data)
                os.fsync(file.fileno())
            self._rename()
        except OSError as error:
            self.discard()
            raise self._failure(error) from error

    def close(self) -> None:
        """Give a stream its document. Raises PlatformError, or ReaderLeft where nobody reads stdout."""
        if self._stream is None:
            return
        try:
            put(self._stream.fileno(), self._last)
            self._stream.close()
        except OSError as error:
            raise self._failure(error) from error

    def check(self) -> None:
        """Raise PlatformError, with the remedy, unless a document can be written there."""
        if self._stream is not None:
            return
        try:
            with contextlib.suppress(FileNotFoundError):
                os.lstat(self._target)
            if os.path.exists(self._target) and not os.access(self._target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            open(self._beside, "wb").close()
        except OSError as error:
            raise PlatformError(f"{OPTION} {self.path}: {explain(self.path, error, EXAMPLE)}") from error

    def discard(self) -> None:
        """Leave nothing beside the file."""
        with contextlib.suppress(OSError):
            os.unlink(self._beside)

    def withdraw(self) -> bool:
        """Remove a document that says nothing, if this run made its file: the next try would find it."""
        if self._stream is not None or not self._is_new or not self._is_mine:
            return False
        with contextlib.suppress(OSError):
            os.unlink(self._target)
        return True

    def _rename(self) -> None:
        if not self._is_mine:
            try:
                os.link(self._beside, self._target)  # fails where another run was faster
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
            self._is_mine = True
        os.replace(self._beside, self._target)
        self.discard()  # two names of one file are left as they are
        with contextlib.suppress(OSError):
            folder = os.open(os.path.dirname(self._target), os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def _failure(self, error: OSError) -> DpbenchError:
        if self.path == STDOUT and isinstance(error, BrokenPipeError):
            return ReaderLeft()
        return PlatformError(f"{OPTION} {self.path}: cannot be written: {error.strerror or error}")


def open_json(path: str, force: bool = False) -> JsonFile:
    """Return the file for a document, checked. Raises PlatformError with the remedy; an existing file needs `force`."""
    if path == STDOUT:
        return JsonFile(path, unbuffered_stdout(OPTION))
    exists = os.path.exists(path)
    if exists and (not stat.S_ISREG(os.stat(path).st_mode) or not force):
        return JsonFile(path, open_output(path, OPTION, EXAMPLE))
    file = JsonFile(path, force=force)
    file.check()
    return file


def put(descriptor: int, data: bytes) -> None:
    """Write all of it: one call, unless a pipe or a full disk takes less."""
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:])
