"""The document of a run on its way into its file, whatever becomes of the disk meanwhile."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dpbench.errors import DpbenchError, PlatformError, ReaderLeft
from dpbench.results.document import Document
from dpbench.results.facts import RunFacts
from dpbench.results.jsonfile import JsonFile
from dpbench.results.phases import Breakdown


class Journal:
    """Keeps the document; what cannot be written is tried again with the next size, and what is lost is told.

    Making one writes what is known then, and raises PlatformError where that fails: nothing is measured yet.
    """

    def __init__(self, file: JsonFile | None, command: str, say: Callable[[str], None]) -> None:
        self._file = file
        self._say = say
        self._document = Document(command)
        self._error: DpbenchError | None = None
        self._is_written = True
        self._reason: str | None = None
        if file is not None:
            try:
                file.write(self._text())
            except DpbenchError:
                file.withdraw()
                raise

    @property
    def takes_rows(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    def begin(self, facts: RunFacts, background: Mapping[str, Any]) -> None:
        """Write what is known before the first size."""
        self._document.begin(facts, background)
        self._write()

    def group(self, facts: RunFacts) -> None:
        """Write what is known before the first size of some ranks."""
        if self._file is not None:
            self._document.group(facts)
            self._write()

    def keep(self, parts: Iterable[Breakdown]) -> None:
        """Write the rows of a size too; they are on the disk when this returns, or the user was told."""
        if self._file is not None:
            self._document.add(parts)
            self._write()

    def stop(self, reason: str) -> None:
        """Note why the run ends before all is measured."""
        self._reason = reason

    def close(self, after: Iterable[Mapping[str, Any]] = ()) -> DpbenchError | None:
        """End the document and return what the run must end with, if it was not always written."""
        if self._file is None:
            return None
        self._document.end(self._reason, after)
        if not self._document.rows and self._file.withdraw():
            return self._error
        self._write()
        try:
            self._file.close()
        except DpbenchError as error:
            self._error, self._is_written = error, False
        if self._error is None or isinstance(self._error, ReaderLeft):
            return self._error
        end = "later it could: nothing is missing" if self._is_written else "the file lacks what came after"
        return PlatformError(f"{self._error}; {end}")

    def _write(self) -> None:
        if self._file is None:
            return
        try:
            self._file.write(self._text())
            self._is_written = True
        except DpbenchError as error:
            if str(error) != str(self._error or ""):
                self._say(f"{error}; the run goes on")
            self._error, self._is_written = error, False

    def _text(self) -> bytes:
        return self._document.text().encode("ascii")
