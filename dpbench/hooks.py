"""Faults that tests plant: nothing happens here unless a variable that only tests set asks for it.

The variable holds a comma list of `kind@rank:strategy:iteration=value`. The rank may be `last` or `*`; the strategy may
be left out, and so may both. Iterations count from 1, over all exchanges of the strategy in this run, or of all
strategies where none is named.

    raise@1:ring:3=KeyError  exit@1:3=0  kill@last:3=9  hang@1:3  delay@1:3=2  slow@1:ring:1=0.001  drop@0:5
    corrupt@last:3=nan  memory@1=1000000  node@1=n1  clock@1=10800  disk@0=2
    building@1=KeyError  calibrating@0=exit  checking@last=MemoryError  writing@0=RuntimeError
"""

import os
import time
from functools import cache
from typing import NamedTuple

VARIABLE = "DPBENCH_TEST_HOOKS"


class Hook(NamedTuple):
    """One fault."""

    kind: str
    rank: str
    strategy: str
    iteration: int | None
    value: str

    def concerns(self, rank: int, ranks: int) -> bool:
        """Return whether it is for this rank."""
        return self.rank in ("*", str(rank)) or (self.rank == "last" and rank == ranks - 1)


@cache
def hooks() -> tuple[Hook, ...]:
    """Return all faults."""
    return tuple(map(parse, filter(None, os.environ.get(VARIABLE, "").split(","))))


def parse(text: str) -> Hook:
    """Return the fault that a text describes."""
    what, _, value = text.partition("=")
    kind, _, place = what.partition("@")
    rank, *rest = place.split(":")
    iteration = int(rest.pop()) if rest else None
    return Hook(kind, rank, rest.pop() if rest else "", iteration, value)


def value_of(kind: str, rank: int | None, ranks: int | None) -> str | None:
    """Return the value of this rank's fault of a kind; None without one."""
    values = (hook.value for hook in hooks() if hook.kind == kind and hook.concerns(rank or 0, ranks or 1))
    return next(values, None)


def shift_clock(rank: int | None, ranks: int | None) -> None:
    """Shift all clocks of this process by the seconds of its `clock`, before other modules take them."""
    if (text := value_of("clock", rank, ranks)) is None:
        return
    seconds = float(text)
    now, counter, counter_ns = time.time, time.perf_counter, time.perf_counter_ns
    time.time = lambda: now() + seconds
    time.perf_counter = lambda: counter() + seconds
    time.perf_counter_ns = lambda: counter_ns() + int(seconds * 1e9)
