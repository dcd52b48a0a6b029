"""The CSV file: checked before anything is measured, then whole rows, size by size, safe on the disk."""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from typing import IO

from dpbench.environment import rank_hint, size_hint
from dpbench.errors import DpbenchError, PlatformError, ReaderLeft, UsageError
from dpbench.hooks import value_of
from dpbench.results.csvtext import HEADER, encode, mended
from dpbench.results.outfile import STDOUT, open_output, remove
from dpbench.results.patience import locked
from dpbench.results.record import SCHEMA, Row

ROOM = 2**14  #: bytes that must be free at first: some rows
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CsvFile:
    """An open CSV; made by `open_csv`."""

    def __init__(self, path: str, stream: IO[bytes], is_new: bool = False) -> None:
        self.path = path
        self._is_new = is_new  #: whether this run made it
        self.notes: list[str] = []  #: what the user should know about the file
        self.broken: OSError | None = None  #: why nothing can follow: a pipe may have got half a row
        self._stream = stream
        self._descriptor = stream.fileno()
        self._is_file = path != STDOUT and stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        self._started, self._writes = False, 0

    def write(self, rows: Iterable[Row]) -> None:
        """Append the rows in one piece and leave them on the disk, or none of them.

        Raises PlatformError if that fails, ReaderLeft if it was stdout and nobody reads it.
        """
        if self.broken:
            raise self._failure(self.broken)
        data = encode(astuple(row) for row in rows)
        try:
            with self._alone():
                self._put(self._due() + data)
        except OSError as error:
            self.broken = None if self._is_file else error
            raise self._failure(error) from error

    def close(self) -> None:
        """Close the file; stdout stays open. Raises PlatformError where a file system complains only now.

        A file that this run made and that got no row is removed: the next try would find that it exists.
        """
        try:
            if self._is_new and os.fstat(self._descriptor).st_size <= len(HEADER):
                remove(self._descriptor, self.path)
            self._stream.close()
        except OSError as error:
            raise self._failure(error) from error

    def check_columns(self) -> None:
        """Raise PlatformError if the file holds anything but rows of these columns."""
        head = os.pread(self._descriptor, len(HEADER), 0) if self._is_file else b""
        if head in (b"", HEADER, HEADER[:-1]):
            return
        newer = ", but of a later one with more of them" if head == HEADER[:-1] + b"," else ""
        raise PlatformError(
            f"--append: the columns of {self.path} are not those of schema {SCHEMA}{newer}; name another file, "
            "or replace it with --force"
        )

    def check_room(self) -> None:
        """Raise PlatformError where the disk is full: a header that is there, or just fits, would not show it."""
        if not self._is_file or not hasattr(os, "posix_fallocate"):
            return
        try:
            with locked(self._descriptor) as is_locked:
                if is_locked:  # else another run may write meanwhile
                    self._try_room()
        except OSError as error:
            raise self._failure(error) from error

    def _try_room(self) -> None:
        size = os.fstat(self._descriptor).st_size
        try:
            os.posix_fallocate(self._descriptor, size, ROOM)
        except OSError as error:
            if error.errno in FULL:  # some file systems cannot be asked
                raise
        finally:
            os.ftruncate(self._descriptor, size)

    def _failure(self, error: OSError) -> DpbenchError:
        if self.path == STDOUT and isinstance(error, BrokenPipeError):
            return ReaderLeft()
        return PlatformError(f"--csv {self.path}: cannot be written: {error.strerror or error}")

    def _due(self) -> bytes:
        """Return what must precede the next row: the header, once, or the line end that an edited file lacks."""
        if not self._is_file:
            return b"" if self._started else HEADER
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) == b"\n":
            return b""
        keep, due = mended(os.pread(self._descriptor, size, 0))
        if keep < size:
            os.ftruncate(self._descriptor, keep)
            self.notes.append(
                f"{self.path} ended within a row, as a run that is killed while writing leaves it: "
                f"{size - keep} bytes removed"
            )
        return due if keep else HEADER

    def _put(self, data: bytes) -> None:
        begin = os.fstat(self._descriptor).st_size
        written = 0
        try:
            self._writes += 1
            if (planted := value_of("disk", rank_hint(), size_hint())) and self._writes > int(planted):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            while written < len(data):  # one call, unless a pipe or a full disk takes less
                written += os.write(self._descriptor, data[written:])
            if self._is_file:
                os.fsync(self._descriptor)
                if not os.fstat(self._descriptor).st_nlink:
                    raise FileNotFoundError(errno.ENOENT, "the file was removed")
        except OSError:
            if self._is_file and os.fstat(self._descriptor).st_size == begin + written:  # nobody wrote after us
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, begin)
            raise
        self._started = True

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other runs that append to the same file out, where the file system can."""
        if not self._is_file:
            yield
            return
        with locked(self._descriptor) as is_locked:
            if not is_locked and not self.notes:
                self.notes.append(f"{self.path} cannot be locked there: let no other run append to it now")
            yield


def open_csv(path: str, force: bool = False, append: bool = False) -> CsvFile:
    """Open `path` ("-" is stdout) and write the header: what cannot be written fails before measuring.

    Raises PlatformError with the remedy: an existing file needs `force`, which replaces it, or `append`.
    """
    if force and append:
        raise UsageError("--force replaces the CSV file, --append continues it: give one of them")
    if path == STDOUT:
        file = CsvFile(path, unbuffered_stdout("--csv"))
    else:
        is_new = not os.path.lexists(path)
        file = CsvFile(path, open_output(path, "--csv", "dpbench.csv", force=force, append=append), is_new)
    try:
        if append:
            file.check_columns()
        file.check_room()
        file.write(())
    except DpbenchError:
        file.close()
        raise
    return file


def unbuffered_stdout(option: str) -> IO[bytes]:
    """Return stdout without what Python would keep back, and write again at its end."""
    require_stdout(option)
    sys.stdout.flush()
    os.set_blocking(sys.stdout.fileno(), True)  # a program before us may have left it otherwise
    return open(sys.stdout.fileno(), "wb", buffering=0, closefd=False)


def require_stdout(option: str) -> None:
    """Raise PlatformError if there is no stdout that results could go to."""
    if sys.stdout is None:  # the shell's >&-
        raise PlatformError(f"{option} -: stdout is closed; name a file instead")
