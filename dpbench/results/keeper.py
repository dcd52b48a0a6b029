"""The rows of a run on their way into its CSV, whatever becomes of the disk meanwhile."""

from collections.abc import Callable, Iterable

from dpbench.errors import DpbenchError, PlatformError, ReaderLeft
from dpbench.results.csvfile import CsvFile
from dpbench.results.record import Row
from dpbench.units import format_size


class Keeper:
    """Keeps the rows; those that cannot be written are tried again with the next size, and what is lost is told."""

    def __init__(self, file: CsvFile | None, say: Callable[[str], None]) -> None:
        self._file = file
        self._say = say
        self._waiting: list[Row] = []
        self._error: DpbenchError | None = None
        for note in file.notes if file else ():
            say(note)

    @property
    def takes_rows(self) -> bool:
        """Whether there is a file that rows may still get into."""
        return self._file is not None and self._file.broken is None

    def keep(self, rows: Iterable[Row]) -> None:
        """Write the rows; they are on the disk when this returns, or the user was told."""
        if self._file is None:
            return
        self._waiting += rows
        try:
            self._file.write(self._waiting)
        except DpbenchError as error:
            if str(error) != str(self._error or ""):  # a reader that left has no words
                self._say(f"{error}; the run goes on")
            self._error = error
        else:
            self._waiting = []

    def close(self) -> DpbenchError | None:
        """Close the file and return what the run must end with, if it was not always written."""
        if self._file is None:
            return None
        if self._waiting:
            self.keep(())
        try:
            self._file.close()
        except PlatformError as error:
            self._error = self._error or error
        if self._error is None or isinstance(self._error, ReaderLeft):
            return self._error
        sizes = ", ".join(dict.fromkeys(format_size(row.bytes) for row in self._waiting))
        end = f"not in the file: {sizes}" if sizes else "later it could: no row is missing"
        return PlatformError(f"{self._error}; {end}")
