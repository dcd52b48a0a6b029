"""The process that a user starts: it opens the namespaces, and the lab in them lives as long as this process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from dpbench.lab.launching import environment
from dpbench.lab.layout import Layout
from dpbench.lab.support import opening


def run(layout: Layout, command: Sequence[str]) -> int:
    """Run a command on node 1 of a lab and return its exit code; nothing of the lab is left then.

    Raises PlatformError if this machine cannot have a lab.
    """
    environ = environment(os.environ, layout.distribution)
    inside = [*opening(environ), sys.executable, "-m", "dpbench.lab.inside"]
    lifeline, held = os.pipe()  # of what this process starts, only `lifeline` is inherited
    with orderly_end():
        lab = subprocess.Popen(
            [*inside, str(lifeline), layout.to_json(), *command], env=environ, pass_fds=[lifeline]
        )
        os.close(lifeline)
        try:
            code = lab.wait()
        finally:
            os.close(held)
            lab.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def orderly_end() -> Iterator[None]:
    """Let signals that ask a process to end be exceptions, as Ctrl-C is."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signals = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, leave) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
