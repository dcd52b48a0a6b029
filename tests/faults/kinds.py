"""The kinds of faults that a campaign plants, and what must come of each."""

import random
from collections.abc import Sequence
from typing import NamedTuple

STRATEGIES = ("ps", "sharded-ps", "ring", "mpi")
SIZES = ("1K", "64K")
SAMPLES = 2
PER_SIZE = 1 + 1 + SAMPLES  # exchanges: one that is checked, one to warm up, the samples
TIMEOUT_S = 1  # of the watchdog
BOTH = "0 and last"  # ranks at once


class Kind(NamedTuple):
    """A kind of fault and what must come of it."""

    name: str
    value: str
    codes: tuple[int, ...]  #: of which the launcher gives one: MPICH's hands on a signal's number as it is
    says: str = ""
    own_s: float = 0.0
    ends: bool = True  #: whether the job ends before its last size
    keeps: int | None = None  #: how many sizes must be in the CSV, if that is not told by the iteration
    ranks: tuple[str, ...] = ("0", "last")  #: that it befalls; rank 0 alone writes files
    anywhere: bool = False  #: whether it is bound to no strategy and no iteration

    @property
    def is_bug(self) -> bool:
        """Whether a traceback is wanted."""
        return self.value == "RuntimeError"


KINDS = (
    *(Kind("raise", name, (4,), words) for name, words in (
        ("RuntimeError", "RuntimeError: planted"),
        ("MemoryError", "out of memory: planted"),
        ("ClickException", "planted"),
        ("mpi", "MPI failed: "),
    )),
    Kind("raise", "PlatformError", (3,), "planted"),
    Kind("raise", "OSError", (3,), "planted"),
    Kind("raise", "RuntimeError", (4,), "RuntimeError: planted", ranks=(BOTH,)),
    Kind("exit", "0", (4,), "sys.exit(0)"),
    Kind("exit", "3", (4,), "sys.exit(3)"),
    Kind("kill", "9", (137, 9)),
    Kind("kill", "11", (139, 11)),
    Kind("kill", "15", (143,), "stopped by SIGTERM"),
    Kind("kill", "2", (130,), "stopped by SIGINT"),
    Kind("kill", "10", (138,), "stopped by SIGUSR1"),
    Kind("hang", "", (4,), "no progress for", TIMEOUT_S),
    Kind("drop", "", (4,), "waits for rank", TIMEOUT_S),
    Kind("delay", "0.3", (0,), ends=False),
    Kind("corrupt", "", (1,), ends=False),
    Kind("corrupt", "nan", (1,), ends=False),
    Kind("corrupt", "inf", (1,), ends=False),
    Kind("clock", "10800", (0,), ends=False, anywhere=True),
    Kind("node", "other", (0,), ends=False, anywhere=True),
    Kind("memory", "10000", (3,), ends=False, keeps=0, anywhere=True),
    Kind("disk", "2", (3,), ends=False, keeps=1, anywhere=True, ranks=("0",)),
    Kind("building", "RuntimeError", (4,), "RuntimeError: planted", keeps=0, anywhere=True),
    Kind("calibrating", "exit", (4,), "sys.exit(1)", keeps=0, anywhere=True),
    Kind("checking", "MemoryError", (4,), "out of memory: planted", keeps=0, anywhere=True),
    Kind("writing", "OSError", (3,), "planted", keeps=0, anywhere=True, ranks=("0",)),
)


class Fault(NamedTuple):
    """One fault of a campaign."""

    kind: Kind
    rank: str
    strategy: str
    iteration: int

    def __str__(self) -> str:
        value = f"={self.kind.value}" if self.kind.value else ""
        place = "" if self.kind.anywhere else f":{self.strategy}:{self.iteration}"
        faults = [f"{self.kind.name}@{rank}{place}{value}" for rank in self.rank.split(" and ")]
        nodes = ["node@0=other"] if self.kind.name == "calibrating" else []  # else there is nothing to calibrate
        return ",".join([*faults, *nodes])

    @property
    def finished(self) -> int:
        """How many sizes are over when it happens."""
        if self.kind.keeps is not None:
            return self.kind.keeps
        return (self.iteration - 1) // PER_SIZE if self.kind.ends else len(SIZES)


def faults(seed: int) -> list[Fault]:
    """Return every fault once, in random order, each at a random iteration."""
    chosen = random.Random(seed)
    every = [
        Fault(kind, rank, strategy, chosen.randint(1, PER_SIZE * len(SIZES)))
        for kind in KINDS
        for rank in kind.ranks
        for strategy in STRATEGIES
        if (kind.name, strategy) != ("drop", "mpi")  # a library's messages are its own
    ]
    chosen.shuffle(every)
    return every


def spread(every: Sequence[Fault], runs: int) -> list[Fault]:
    """Return so many faults, all kinds about equally often."""
    by_kind = [[fault for fault in every if fault.kind == kind] for kind in KINDS]
    turns = [fault for turn in range(max(map(len, by_kind))) for some in by_kind for fault in some[turn : turn + 1]]
    return turns[:runs]
