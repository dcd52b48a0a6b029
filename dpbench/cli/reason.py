"""What has ended a rank: its exit code, and how to say it to people."""

from collections.abc import Callable
from typing import Any

import click

from dpbench.errors import DpbenchError, Exit, PlatformError

INTERRUPTED = 128 + 2  #: as shells report SIGINT

FORESEEN: tuple[tuple[type[BaseException], int, Callable[[Any], str]], ...] = (
    (PlatformError, Exit.ENVIRONMENT, str),
    (DpbenchError, Exit.FAILED, str),
    (click.ClickException, Exit.FAILED, lambda error: str(error.format_message())),
    (KeyboardInterrupt, INTERRUPTED, lambda _: "interrupted"),
    (SystemExit, Exit.FAILED, lambda error: f"left with sys.exit({error.code!r})"),
    (MemoryError, Exit.FAILED, lambda error: f"out of memory: {error}"),
    (BrokenPipeError, Exit.READER_LEFT, str),
    (OSError, Exit.ENVIRONMENT, str),
)


def reason(error: BaseException) -> tuple[int, str | None]:
    """Return the exit code and the words of what has ended a rank; no words for a bug: its traceback says more."""
    for kind, code, words in FORESEEN:
        if isinstance(error, kind):
            return code, words(error)
    if type(error).__module__.startswith("mpi4py"):
        return Exit.FAILED, f"MPI failed: {error}"
    return Exit.FAILED, None
