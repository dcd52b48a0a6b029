"""Signals that ask the job to stop: the ranks leave together at the next agreement, or alone if none comes in time.

Python runs handlers between two of its instructions, of which there is none while the main thread is inside MPI. So
the signal's number goes through a pipe, which Python fills at once, to a thread that waits for it.
"""

import os
import signal
import threading
from collections.abc import Callable

from dpbench.engine.ending import abort, leave, tell
from dpbench.engine.where import Where

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
PATIENCE_S = 3.0  # then rank 0 ends the job; launchers and batch systems kill soon after
LATER_S = 0.5  # the others: rank 0 has the message, unless the signal was for another rank only


class Signals:
    """Notes the first signal that asks this rank to stop."""

    def __init__(self, where: Where, end: Callable[[int], None] = abort, say: Callable[[str], None] = tell) -> None:
        self.where = where
        self.end, self.say = end, say
        self.caught = 0  #: its number, once there was one
        self.last_words: Callable[[str], bool] = lambda reason: False  #: closes the output; whether it was done in time
        self.over = threading.Event()

    def __enter__(self) -> "Signals":
        """Begin to listen."""
        self.source, self.sink = os.pipe()
        os.set_blocking(self.sink, False)
        signal.set_wakeup_fd(self.sink, warn_on_full_buffer=False)
        for number in ASKING:
            signal.signal(number, lambda *_: None)
        threading.Thread(target=self.listen, name="signals", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more. Ranks that leave because of a signal ignore the launcher's next ones, but not for long."""
        self.over.set()
        signal.set_wakeup_fd(-1)
        os.write(self.sink, b"\0")
        if self.caught:
            threading.Thread(target=leave, args=(128 + self.caught,), daemon=True).start()
        else:
            for number in ASKING:
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def listen(self) -> None:
        """Wait for a signal; if the ranks have not left in time, end the job."""
        while not self.caught and not self.over.is_set():
            number = os.read(self.source, 1)[0]
            if number in ASKING:
                self.caught = number
        if self.over.wait(PATIENCE_S + (LATER_S if self.where.rank else 0)):
            return
        if not self.last_words(stopped_by(self.caught)):  # else the output says it
            self.say(incomplete(self.caught, self.where))
        self.end(128 + self.caught)


def incomplete(number: int, where: Where) -> str:
    """Return what is to be said about a run that a signal has ended."""
    if where.rank:
        return f"{where}: {stopped_by(number)}"
    return f"incomplete: {stopped_by(number)}; sizes written: {where.sizes_written}"


def stopped_by(number: int) -> str:
    """Return the reason that rows and messages give."""
    return f"stopped by {signal.Signals(number).name}"
