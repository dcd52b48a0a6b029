"""Exit codes and the errors that carry them. A user's mistake is one of these, never a traceback."""

from enum import IntEnum
from signal import Signals


class Exit(IntEnum):
    """What the exit code of every rank means."""

    OK = 0  #: at least one row measured, none wrong
    WRONG = 1  #: a wrong result; of a comparison: something got worse
    USAGE = 2  #: the command line asks for something that makes no sense
    ENVIRONMENT = 3  #: launcher, MPI, GPU, memory or output path cannot do what was asked
    FAILED = 4  #: a rank failed or stalled
    DOUBTFUL = 5  #: with --strict: a row has a warning, or was skipped
    NOTHING_COMPARABLE = 6  #: a comparison of files that have no measurement in common
    READER_LEFT = 128 + 13  #: nobody reads the output any more, as shells report SIGPIPE


class DpbenchError(Exception):
    """A condition with a message for the user and an exit code; shown once, by one rank."""

    code: int = Exit.FAILED
    agreed = False  #: whether every rank raises it, or one of the same code: else the others must be ended


class UsageError(DpbenchError):
    """An option's value is malformed or impossible; the message names option, value and what is allowed."""

    code = Exit.USAGE


class PlatformError(DpbenchError):
    """The environment cannot do what was asked; the message names the fact and the remedy."""

    code = Exit.ENVIRONMENT


class NoLibrary(PlatformError):
    """This rank cannot load MPI. It may be the only one: the others would wait in MPI_Init for it."""


class NothingComparable(DpbenchError):
    """Two sets of results have no measurement in common that could be judged."""

    code = Exit.NOTHING_COMPARABLE


class GotWorse(DpbenchError):
    """A comparison found something worse; raised by ranks that say nothing, which then wait for the one that does."""

    code = Exit.WRONG

    def __init__(self) -> None:
        super().__init__("")


class ReaderLeft(DpbenchError):
    """Whoever read stdout has left, as `head` does: nobody is there to be told."""

    code = Exit.READER_LEFT

    def __init__(self) -> None:
        super().__init__("")


class Stopped(DpbenchError):
    """A signal asked the job to stop, and the ranks have agreed to."""

    agreed = True

    def __init__(self, number: int) -> None:
        super().__init__("")
        self.name = Signals(number).name
        self.code = 128 + number  # as shells report signals


class RankFailed(Exception):
    """A rank failed by itself, where this says; the cause is what it raised."""

    def __init__(self, where: str, debug: bool = False, turn: float = 0.0) -> None:
        super().__init__(where)
        self.debug = debug  #: whether the traceback is wanted in any case
        self.turn = turn  #: from 0 to 1, when it is told: of ranks that fail alike the first one ends the others


class Unsuitable(Exception):
    """A strategy cannot run here (too few ranks, no such datatype); its row is `skipped` with this reason."""
