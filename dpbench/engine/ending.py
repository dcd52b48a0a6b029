"""Ending the whole job from one rank, whatever the others and this one's main thread are doing."""

import os
import sys
from contextlib import suppress
from threading import Thread
from time import sleep

PATIENCE_S = 2.0  # of a launcher that is asked to end the job; then this process ends by itself, which launchers notice


def abort(code: int) -> None:
    """End all ranks with `code`; what was printed comes out first."""
    from dpbench.engine.mpi import MPI

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    Thread(target=leave, args=(code,), daemon=True).start()
    with suppress(MPI.Exception):
        MPI.COMM_WORLD.Abort(code)
    os._exit(code)


def leave(code: int) -> None:
    """End this process soon, at all events."""
    sleep(PATIENCE_S)
    os._exit(code)


def tell(text: str) -> None:
    """Print a message at once and in one piece, from whatever thread."""
    with suppress(OSError):
        os.write(2, f"dpbench: {text}\n".encode("utf-8", "backslashreplace"))
