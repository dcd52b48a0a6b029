"""Where output goes: tables to stdout, messages and progress to stderr; in files and any locale too."""

import contextlib
import os
import sys
from collections.abc import Callable
from typing import IO, Any, cast

from rich.console import Console

from dpbench.environment import launched
from dpbench.errors import PlatformError

TAB = 10  #: columns between the tab stops of headers and footers
WIDTH = 80  #: of what is not a terminal, unless COLUMNS says otherwise

ASCII = str.maketrans({"±": "+-", "×": "x", "µ": "u", "…": "...", "─": "-"})


class Survivor:
    """A stream that can break without an exception: it keeps the first error and goes on without output.

    A reader that goes away (`| head`) or a full disk ends the printing only: no rank may leave while others exchange.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.error: OSError | None = None
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write."""
        self._survive(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush."""
        self._survive(self._stream.flush)

    def _survive(self, action: Callable[[], object]) -> None:
        if self.error is not None:
            return
        try:
            action()
        except OSError as error:
            self.error = error
            with contextlib.suppress(OSError):  # Python flushes what is left at its end, and would complain
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


class Screen(Console):
    """A console that never crops or wraps a line, and survives its stream."""

    def __init__(self, stream: IO[str] | None) -> None:
        stream = stream or open(os.devnull, "w")  # noqa: SIM115 - a closed stdout is nobody's
        if hasattr(stream, "reconfigure"):
            # Host names and commands may hold what the locale cannot print.
            stream.reconfigure(errors="backslashreplace")
        with contextlib.suppress(OSError):
            os.set_blocking(stream.fileno(), True)  # a program before us may have left it otherwise
        self._survivor = Survivor(stream)
        self._told = False
        # Open MPI gives its ranks a pseudo-terminal even where its own output is a file.
        watched = stream.isatty() and not launched()
        super().__init__(
            file=cast(IO[str], self._survivor),
            force_terminal=None if watched or os.environ.get("FORCE_COLOR") else False,
            width=None if watched else columns(),
            soft_wrap=True,
            markup=False,
            highlight=False,
            emoji=False,
        )

    @property
    def lost(self) -> OSError | None:
        """Why the stream takes no more; a BrokenPipeError if its reader has left."""
        return self._survivor.error

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; plain strings are spelled as the stream allows.

        Raises PlatformError, once, if the stream takes no more though its reader has not left.
        """
        super().print(*(self.spell(each) if isinstance(each, str) else each for each in objects), **options)
        if self.lost and not self._told:
            self._told = True
            if not isinstance(self.lost, BrokenPipeError):
                name = str(getattr(self.file, "name", "the output")).strip("<>")
                raise PlatformError(f"{name} cannot be written: {self.lost.strerror or self.lost}")

    def spell(self, text: str) -> str:
        """Return `text` with tabs expanded, and our symbols in ASCII where the stream is not Unicode."""
        return spell(text, self.options.ascii_only).expandtabs(TAB)


def out(*paths: str | None) -> Screen:
    """Return the console of the tables: stdout, or stderr where one of the results' paths is stdout."""
    return Screen(sys.stderr if "-" in paths else sys.stdout)


def err() -> Screen:
    """Return the console of messages and progress."""
    return Screen(sys.stderr)


def columns() -> int:
    """Return the width of what is not a terminal."""
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) else WIDTH


def spell(text: str, ascii_only: bool) -> str:
    """Return `text` with our own symbols in ASCII if need be."""
    return text.translate(ASCII) if ascii_only else text
