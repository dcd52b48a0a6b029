"""Where output goes: tables to stdout, messages and progress to stderr; in files and any locale too."""

import contextlib
import os
import sys
from typing import IO, Any

from rich.console import Console

from dpbench.environment import launched
from dpbench.errors import PlatformError

TAB = 10  #: columns between the tab stops of headers and footers
WIDTH = 80  #: of what is not a terminal, unless COLUMNS says otherwise

ASCII = str.maketrans({"±": "+-", "×": "x", "µ": "u", "…": "...", "─": "-"})


class Screen(Console):
    """A console that never crops or wraps a line and never ends the run.

    A reader that goes away (`| head`) ends the printing only: no rank may leave while the others exchange.
    """

    def __init__(self, stream: IO[str] | None) -> None:
        stream = stream or open(os.devnull, "w")  # noqa: SIM115 - a closed stdout is nobody's
        if hasattr(stream, "reconfigure"):
            # Host names and commands may hold what the locale cannot print.
            stream.reconfigure(errors="backslashreplace")
        # Open MPI gives its ranks a pseudo-terminal even where its own output is a file.
        watched = stream.isatty() and not launched()
        super().__init__(
            file=stream,
            force_terminal=None if watched or "FORCE_COLOR" in os.environ else False,
            width=None if watched else columns(),
            soft_wrap=True,
            markup=False,
            highlight=False,
            emoji=False,
        )

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; plain strings are spelled as the stream allows. Raises PlatformError if it takes no more."""
        texts = (self.spell(each) if isinstance(each, str) else each for each in objects)
        try:
            super().print(*texts, **options)
        except BrokenPipeError:  # as releases of rich before 13.8 let it through
            self.on_broken_pipe()
        except OSError as error:
            self._close_down()
            name = getattr(self.file, "name", "the output")
            raise PlatformError(f"{name} cannot be written: {error.strerror or error}") from error

    def spell(self, text: str) -> str:
        """Return `text` with tabs expanded, and our symbols in ASCII where the stream is not Unicode."""
        return spell(text, self.options.ascii_only).expandtabs(TAB)

    def on_broken_pipe(self) -> None:
        """Go on without output."""
        self._close_down()

    def _close_down(self) -> None:
        self.quiet = True
        with contextlib.suppress(OSError):  # Python flushes what is left at its end, and would complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def out(csv: str | None = None) -> Screen:
    """Return the console of the tables: stdout, or stderr where the CSV has stdout."""
    return Screen(sys.stderr if csv == "-" else sys.stdout)


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
