"""A watchdog for exchanges that stand still: it says where and for whom each rank waits, and ends the job.

A thread of each rank looks on from outside a few times per timeout; what it reads is there anyway. It calls no MPI
until it ends the job: MPI belongs to the main thread.
"""

import _thread
import signal
import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from dpbench.engine.ending import abort, tell
from dpbench.engine.where import State, Where
from dpbench.errors import Exit

LOOKS = 8  # per timeout, but no more than one a second if that leaves LEAST_LOOKS
LEAST_LOOKS = 4
GRACE_S = 5.0  # ranks outside an exchange are silent so much longer: those within one know more
ANSWER_S = 0.5  # in which a main thread that polls answers
LAST_WORDS_S = 1.0  # for others to speak before the job ends
TURN_S = 0.05  # between ranks that speak, if they stand at evenly distributed places
MOST_TURNS_S = 3.0  # for all of them
QUESTION = signal.SIGUSR2  # the main thread's handler of it answers; no real signal is sent


class Watchdog:
    """Ends the job if this rank makes no progress for as long as its patience lasts."""

    def __init__(
        self,
        where: Where,
        last_words: Callable[[str], None] = lambda reason: None,
        end: Callable[[int], None] = abort,
        say: Callable[[str], None] = tell,
    ) -> None:
        self.where = where
        self.end, self.say = end, say
        self.last_words = last_words  #: closes the output
        self.answer: str | None = None
        self.answered = threading.Event()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, name="watchdog", daemon=True)

    def __enter__(self) -> "Watchdog":
        """Begin to watch, if there is a limit to patience."""
        if self.where.patience_s is not None:
            signal.signal(QUESTION, self.reply)
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        self.over.set()
        if self.thread.is_alive():
            self.thread.join(LAST_WORDS_S)

    def watch(self) -> None:
        """Look again and again whether anything has changed."""
        still, seen, last = 0.0, self.where.progress(), monotonic()
        while not self.over.wait(pause(self.where.patience_s or GRACE_S)):
            patience = self.where.patience_s  # read before what is noted before it, lest a long wait count
            now, progress = monotonic(), self.where.progress()
            # A job that was suspended has not stood still meanwhile: each look counts for little more than one pause.
            still = still + min(now - last, 2 * pause(patience or GRACE_S)) if progress == seen else 0.0
            seen, last = progress, now
            if patience is not None and still >= patience + grace(self.where.state):
                self.stalled(still)
                return

    def stalled(self, still: float) -> None:
        """Say where this rank stands, and end the job a little later."""
        where = self.where
        outlook = where.exchange.outlook if where.exchange and where.state == "exchange" else None
        behind = outlook.fraction() if outlook else where.rank / where.size
        if self.over.wait(min(MOST_TURNS_S, behind * where.size * TURN_S)):
            return
        self.say(f"{where}: {self.standing()}; no progress for {still:.3g} s")
        said = monotonic()
        self.last_words(f"rank {where.rank} saw no progress")
        sleep(max(0.0, LAST_WORDS_S - (monotonic() - said)))
        self.end(Exit.FAILED)

    def standing(self) -> str:
        """Return what the rank is waiting for."""
        where = self.where
        if where.state == "barrier":
            return "waits for the other ranks to begin"
        if where.state == "elsewhere" or where.exchange is None:
            return "is between exchanges, where ranks wait for each other"
        if where.exchange.outlook is None:
            return "the library call does not return"
        _thread.interrupt_main(QUESTION)
        if self.answered.wait(ANSWER_S) and self.answer:
            return self.answer
        return where.exchange.outlook.text(asks_mpi=False)

    def reply(self, *_: Any) -> None:
        """Note which messages are not complete: in the main thread, which may ask MPI."""
        exchange = self.where.exchange
        if exchange is not None and exchange.outlook is not None:
            self.answer = exchange.outlook.text(asks_mpi=True)
        self.answered.set()


def grace(state: State) -> float:
    """Return how much longer a rank is silent; between exchanges rank 0 may wait for a lock on its file, for 10 s."""
    return {"exchange": 0.0, "barrier": GRACE_S, "elsewhere": 3 * GRACE_S}[state]


def pause(patience_s: float) -> float:
    """Return the time between two looks: they cost the ranks some microseconds each."""
    return max(patience_s / LOOKS, min(1.0, patience_s / LEAST_LOOKS))
