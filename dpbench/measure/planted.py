"""What becomes of the faults that tests plant into exchanges; see `dpbench.hooks`."""

import builtins
import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from threading import Event
from time import sleep, time
from typing import Any

from dpbench.errors import PlatformError
from dpbench.hooks import Hook, hooks, value_of
from dpbench.measure.case import Case
from dpbench.measure.expected import Sums
from dpbench.measure.timing import busy

ALL = ""  # strategies together
LASTING = ("corrupt", "slow")  # from their iteration on; of corrupt results not all are checked
NOTICE = "planted"  # begins the line that tells when


class Planted:
    """The faults of one rank. Without any, exchanges stay as they are."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.hooks = [hook for hook in hooks() if hook.iteration and hook.concerns(rank, ranks)]
        self.counts: Counter[str] = Counter()

    def plant(self, case: Case) -> None:
        """Wrap the exchange of a case, if there are faults."""
        if self.hooks:
            exchange = case.running
            exchange.run = partial(self.run, case, exchange.run)

    def run(self, case: Case, run: Callable[[], None]) -> None:
        """Exchange, with the faults that are due."""
        self.counts.update((case.plan.strategy, ALL))
        due = [hook for hook in self.hooks if self.is_due(hook, case.plan.strategy)]
        for hook in due:
            if hook.kind != "slow":
                os.write(2, f"\n{NOTICE} {hook.kind} at {time()}\n".encode())
            BEFORE.get(hook.kind, nothing)(case, hook.value)
        run()
        for hook in due:
            AFTER.get(hook.kind, nothing)(case, hook.value)

    def is_due(self, hook: Hook, strategy: str) -> bool:
        """Return whether a fault belongs to this exchange, or has since an earlier one."""
        if hook.strategy not in (ALL, strategy):
            return False
        count = self.counts[hook.strategy]
        return count == hook.iteration or (hook.kind in LASTING and count >= (hook.iteration or 0))


def reach(place: str, rank: int, ranks: int) -> None:
    """Do what is planted at a place outside exchanges: leave with `exit`, or raise the exception of that name."""
    value = value_of(place, rank, ranks)
    if value is not None:
        os.write(2, f"\n{NOTICE} {place} at {time()}\n".encode())
        if value == "exit":
            sys.exit(1)
        fail(None, value)


def nothing(case: Case, value: str) -> None:
    """Do nothing."""


def fail(_: Case | None, value: str) -> None:
    """Raise an exception of this name; `mpi` is one of MPI's."""
    name = value or "RuntimeError"
    if name == "mpi":
        from dpbench.engine.mpi import MPI

        MPI.COMM_WORLD.Send(bytearray(1), dest=2**20)
    if name == "ClickException":
        import click

        raise click.ClickException("planted")
    raise PlatformError("planted") if name == "PlatformError" else getattr(builtins, name)("planted")


def drop(case: Case, value: str) -> None:
    """Lose the next message that this rank sends."""
    wire: Any = getattr(case.exchange, "wire", None)
    wire.lose()


def corrupt(case: Case, value: str) -> None:
    """Spoil the first element that this rank must hold: by a value, or by one more."""
    result: Any = case.result
    array = result.output if isinstance(result, Sums) else result.weights
    first = result.ranges[0][0]
    array[first] = float(value) if value else array[first] + 1


BEFORE: dict[str, Callable[[Case, str], object]] = {
    "raise": fail,
    "exit": lambda case, value: sys.exit(int(value or 1)),
    "kill": lambda case, value: os.kill(os.getpid(), int(value)),
    "delay": lambda case, value: sleep(float(value)),
    "slow": lambda case, value: busy(float(value)),
    "hang": lambda case, value: Event().wait(),
    "drop": drop,
}
AFTER: dict[str, Callable[[Case, str], object]] = {"corrupt": corrupt}
