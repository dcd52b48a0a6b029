"""The command line: declares the options, converts them, calls. Nothing is measured or decided here."""

import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

import click

from dpbench import environment, hooks
from dpbench.cli.commands import program
from dpbench.cli.reason import INTERRUPTED, reason
from dpbench.cli.streams import hold_closed
from dpbench.errors import DpbenchError, Exit, NoLibrary, RankFailed, UsageError
from dpbench.text import printable

# Some launchers end all ranks as soon as one exits with an error: the others wait for the one that speaks.
HEAD_START_S = 3.0

WITHOUT_MPI = ("compare", "env", "lab", "list", "show")  #: commands whose ranks need not meet over a mistake
TURNS_S = 1.0  # in which ranks that have failed speak


def main(args: Sequence[str] | None = None) -> int:
    """Run the command that `args` (or the process's arguments) ask for and return its exit code.

    A user's mistake becomes one message and an exit code here, whatever command made it. Whatever else
    arrives here is a fault of dpbench: its traceback is shown, and the code is that of a rank that failed.
    """
    hold_closed()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts a thread per core, in each rank
    arguments = list(sys.argv[1:] if args is None else args)
    if hooks.hooks():
        hooks.shift_clock(environment.rank_hint(), environment.size_hint())
    try:
        return _run(arguments)
    except RankFailed as failure:
        return _lost(failure)
    except (click.ClickException, DpbenchError, OSError) as error:
        return _mistake(error, arguments)
    except (KeyboardInterrupt, click.Abort):
        return _left(INTERRUPTED)
    except Exception as fault:
        if isinstance(fault, ModuleNotFoundError) and (package := str(fault.name).partition(".")[0]) != "dpbench":
            advice = f"install dpbench, or pip install {package}"
            return _left(_failed(f"the Python package {package} is missing: {advice}", Exit.ENVIRONMENT))
        _tell(traceback.print_exc)
        return _left(Exit.FAILED)


def _run(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    try:
        with program.make_context("dpbench", list(arguments), obj=arguments) as context:
            code = program.invoke(context)
    except click.exceptions.Exit as done:
        code = done.exit_code
    print(end="", flush=True)
    return int(code or Exit.OK)


def _mistake(error: click.ClickException | DpbenchError | OSError, arguments: list[str]) -> int:
    """Say what the user or the environment got wrong; end the other ranks unless they know of it."""
    if isinstance(error, click.ClickException):
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "dpbench"
        return _misused(f"{printable(error.format_message())}\nTry '{path} --help'.", arguments)
    if isinstance(error, UsageError) and not _mpi_runs():
        return _misused(str(error), arguments)
    if isinstance(error, NoLibrary) and environment.launched():
        return _without_library(error)
    if isinstance(error, DpbenchError):
        code = _failed(str(error), error.code)
        return code if error.agreed else _left(code)
    _silence(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return _left(Exit.READER_LEFT)
    unnamed = error.filename is None  # it came of printing
    return _left(_failed(f"stdout cannot be written: {error.strerror}" if unnamed else str(error), Exit.ENVIRONMENT))


def _misused(message: str, arguments: list[str]) -> int:
    """Say what is wrong with the command line. Not all ranks of a job need to have the same one: so they meet."""
    starts_mpi = arguments[:1] not in [[name] for name in WITHOUT_MPI]
    if starts_mpi and environment.launched() and environment.size_hint() != 1:
        try:
            from dpbench.engine.starting import in_time
            from dpbench.measure.agree import require_no_mistake

            with in_time(None):
                require_no_mistake(message)
        except NoLibrary:
            return _without_library(UsageError(message))
        except DpbenchError as error:
            message = str(error) if error.code == Exit.USAGE else message  # else there is no job
    return _failed(message, Exit.USAGE)


def _without_library(error: DpbenchError) -> int:
    """Say what keeps this rank from starting MPI, perhaps this one only, and end those that wait for it in MPI_Init.

    Of ranks that fail alike the first one speaks, and its launcher ends the others meanwhile; or else of each node.
    """
    from dpbench.engine.starting import end_waiting, ends_waiting, place

    first = environment.local_rank_hint() in (0, None)
    if not environment.speaks():
        time.sleep(HEAD_START_S + (not first))
    if environment.speaks() or first or ends_waiting():
        text = f"dpbench: {place()}: {printable(str(error))}"
        _tell(lambda: click.echo(text, err=True))
    end_waiting(error.code, met=False)
    return int(error.code)


def _mpi_runs() -> bool:
    """Return whether MPI runs, which ends ranks together only."""
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and mpi.Is_initialized() and mpi.COMM_WORLD.size > 1


def _lost(failure: RankFailed) -> int:
    """Say where this rank failed and why, with the traceback of a bug, and end the others."""
    time.sleep(failure.turn * TURNS_S)
    cause = failure.__cause__ or failure
    code, why = reason(cause)
    if why is None or failure.debug:
        _tell(lambda: traceback.print_exception(cause))
    if code != Exit.READER_LEFT:
        text = f"dpbench: {failure}: {printable(why) if why else f'{type(cause).__name__}: {cause}'}"
        _tell(lambda: click.echo(text, err=True))
    return _left(code)


def _left(code: int) -> int:
    """Leave alone, with `code`: where MPI runs the other ranks wait for this one, so they are ended."""
    if _mpi_runs():
        from dpbench.engine.ending import abort

        abort(int(code))
    return int(code)


def _failed(message: str, code: int) -> int:
    """Print the message, if there is one, from one rank; return the code on all of them."""
    # Once MPI runs, rank 0 alone has a message, and MPI's end keeps the ranks together.
    with_mpi = _mpi_runs()
    if message and (with_mpi or environment.speaks()):
        text = "dpbench: " + "\n".join(map(printable, message.splitlines()))
        _tell(lambda: click.echo(text, err=True))
    elif not with_mpi:
        time.sleep(HEAD_START_S)
    return int(code)


def _tell(say: Callable[[], object]) -> None:
    """Say something on stderr. If that takes no more the exit code stays, and other ranks are ended all the same."""
    try:
        say()
    except OSError:
        _silence(sys.stderr)


def _silence(stream: IO[str] | None) -> None:
    """Let nothing come of what a broken stream still holds: the interpreter's last flush would complain."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]  # None has none
