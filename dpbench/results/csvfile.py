"""The CSV file: checked before anything is measured, then whole rows, size by size, safe on the disk."""

import contextlib
import csv
import errno
import fcntl
import io
import math
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from typing import IO, Any

from dpbench.errors import PlatformError, UsageError
from dpbench.results.outfile import STDOUT, open_output
from dpbench.results.record import COLUMNS, SCHEMA, Row


class CsvFile:
    """An open CSV; made by `open_csv`."""

    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self._path = path
        self._stream = stream
        self._is_file = path != STDOUT and stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
        self._started = False

    def write(self, rows: Iterable[Row]) -> None:
        """Append the rows in one piece and leave them on the disk. Raises PlatformError if that fails."""
        data = encode(astuple(row) for row in rows)
        try:
            with self._lock():
                self._put(self._due() + data)
                if self._is_file:
                    os.fsync(self._stream.fileno())
        except OSError as error:
            why = error.strerror or error
            raise PlatformError(f"--csv {self._path}: cannot be written: {why}") from error

    def close(self) -> None:
        """Close the file; stdout stays open."""
        if self._path != STDOUT:
            self._stream.close()

    def check_columns(self) -> None:
        """Raise PlatformError if the file holds anything but rows of these columns."""
        head = os.pread(self._stream.fileno(), len(HEADER), 0) if self._is_file else b""
        if head not in (b"", HEADER, HEADER[:-1]):
            raise PlatformError(
                f"--append: the columns of {self._path} are not those of schema {SCHEMA}; name another file, "
                "or replace it with --force"
            )

    def _due(self) -> bytes:
        """Return what must precede the next row: the header, once, or the line end that a killed run owes."""
        if not self._is_file:
            due, self._started = b"" if self._started else HEADER, True
            return due
        descriptor = self._stream.fileno()
        size = os.fstat(descriptor).st_size
        if size == 0:
            return HEADER
        return b"" if os.pread(descriptor, 1, size - 1) == b"\n" else b"\n"

    def _put(self, data: bytes) -> None:
        while data:  # one call, unless a pipe or a full disk takes less
            data = data[self._stream.write(data) :]
        self._stream.flush()

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Keep other runs that append to the same file out."""
        if not self._is_file:
            yield
            return
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX)
        except OSError as error:
            # Some parallel file systems are mounted without locks: appending in one call must then do.
            if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL):
                raise
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(self._stream, fcntl.LOCK_UN)


def open_csv(path: str, force: bool = False, append: bool = False) -> CsvFile:
    """Open `path` ("-" is stdout) and write the header: what cannot be written fails before measuring.

    Raises PlatformError with the remedy: an existing file needs `force`, which replaces it, or `append`.
    """
    if force and append:
        raise UsageError("--force replaces the CSV file, --append continues it: give one of them")
    if path == STDOUT:
        sys.stdout.flush()
        file = CsvFile(path, sys.stdout.buffer)
    else:
        file = CsvFile(path, open_output(path, "--csv", "dpbench.csv", force=force, append=append))
        if append:
            file.check_columns()
    file.write(())
    return file


def encode(rows: Iterable[Iterable[Any]]) -> bytes:
    """Return the rows as UTF-8 lines. What is not measured or not defined is empty: never nan or inf."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    # A file name in the command may hold bytes that are no text: escaped, not lost.
    return text.getvalue().encode("utf-8", errors="backslashreplace")


def cell(value: Any) -> Any:
    """Return the value as csv should write it; a float keeps all its digits, whatever the locale."""
    return "" if isinstance(value, float) and not math.isfinite(value) else value


HEADER = encode([COLUMNS])
