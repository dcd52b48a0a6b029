"""The command line: declares the options, converts them, calls. Nothing is measured or decided here."""

import os
import sys
import time
import traceback
from collections.abc import Sequence

import click

from dpbench import environment
from dpbench.cli.commands import program
from dpbench.errors import DpbenchError, Exit

INTERRUPTED = 128 + 2  #: as shells report SIGINT
CLOSED_PIPE = 128 + 13  #: as shells report SIGPIPE

# Some launchers end all ranks as soon as one exits with an error: the others wait for the one that speaks.
HEAD_START_S = 2.0


def main(args: Sequence[str] | None = None) -> int:
    """Run the command that `args` (or the process's arguments) ask for and return its exit code.

    A user's mistake becomes one message and an exit code here, whatever command made it. Whatever else
    arrives here is a fault of dpbench and goes on as an exception.
    """
    arguments = list(sys.argv[1:] if args is None else args)
    try:
        with program.make_context("dpbench", list(arguments), obj=arguments) as context:
            code = program.invoke(context)
        print(end="", flush=True)
        return int(code or Exit.OK)
    except click.exceptions.Exit as done:
        print(end="", flush=True)
        return done.exit_code
    except click.ClickException as error:
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "dpbench"
        return _failed(f"{error.format_message()}\nTry '{path} --help'.", Exit.USAGE)
    except DpbenchError as error:
        return _failed(str(error), error.code)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # Else the interpreter's last flush would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except Exception:
        if "mpi4py.MPI" in sys.modules:
            _abort()  # the other ranks wait for this one
        raise


def _abort() -> None:
    """Say what went wrong here and end all ranks at once."""
    from dpbench.engine.mpi import MPI

    traceback.print_exc()
    sys.stderr.flush()
    MPI.COMM_WORLD.Abort(int(Exit.FAILED))


def _failed(message: str, code: Exit) -> int:
    """Print the message, if there is one, from one rank; return the code on all of them."""
    # Once MPI runs, rank 0 alone has a message, and MPI's end keeps the ranks together.
    with_mpi = "mpi4py.MPI" in sys.modules
    if message and (with_mpi or environment.speaks()):
        click.echo(f"dpbench: {message}", err=True)
    elif not with_mpi:
        time.sleep(HEAD_START_S)
    return int(code)
