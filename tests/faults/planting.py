"""Plant faults of every kind, on the first and the last of 4 ranks, in every strategy, at random iterations.

    planting.py [--runs N] [--seed N]     by default every fault once, with the MPI library of this Python

However a rank fails: the job ends soon, with the right exit code and one message, the sizes that were finished are in
the CSV, and no process is left.
"""

import argparse
import csv
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from launcher import end_all, launcher, remove_unused, survivors  # noqa: E402

from dpbench.hooks import VARIABLE  # noqa: E402

RANKS = 4
STRATEGIES = ("ps", "sharded-ps", "ring", "mpi")
SIZES = ("1K", "64K")
SAMPLES = 4
PER_SIZE = 1 + 1 + SAMPLES  # exchanges: one that is checked, one to warm up, the samples
SOON_S = 10.0  # after the fault and its own delay
TIMEOUT_S = 1  # of the watchdog
MARK = "DPBENCH_TEST_JOB"


class Kind(NamedTuple):
    """A kind of fault and what must come of it."""

    name: str
    value: str
    codes: tuple[int, ...]  #: of which the launcher gives one: MPICH's hands on a signal's number as it is
    says: str = ""
    own_s: float = 0.0
    ends: bool = True  #: whether the job ends before its last size
    keeps: int | None = None  #: how many sizes must be in the CSV, if that is not told by the iteration
    alone: bool = False  #: whether it befalls rank 0 only: the others write no file


KINDS = (
    *(Kind("raise", name, (4,), words) for name, words in (
        ("RuntimeError", "RuntimeError: planted"),
        ("MemoryError", "out of memory: planted"),
        ("ClickException", "planted"),
        ("mpi", "MPI failed: "),
    )),
    Kind("raise", "PlatformError", (3,), "planted"),
    Kind("raise", "OSError", (3,), "planted"),
    Kind("exit", "0", (4,), "sys.exit(0)"),
    Kind("exit", "3", (4,), "sys.exit(3)"),
    Kind("kill", "9", (137, 9)),
    Kind("kill", "11", (139, 11)),
    Kind("kill", "15", (143,), "stopped by SIGTERM"),
    Kind("kill", "2", (130,), "stopped by SIGINT"),
    Kind("kill", "10", (138,), "stopped by SIGUSR1"),
    Kind("hang", "", (4,), "no progress for", TIMEOUT_S),
    Kind("drop", "", (4,), "waits for rank", TIMEOUT_S),
    Kind("delay", "0.3", (0,), own_s=0.3, ends=False),
    Kind("corrupt", "", (1,), ends=False),
    Kind("corrupt", "nan", (1,), ends=False),
    Kind("corrupt", "inf", (1,), ends=False),
    Kind("clock", "10800", (0,), ends=False),
    Kind("node", "other", (0,), ends=False),
    Kind("memory", "10000", (3,), ends=False, keeps=0),
    Kind("disk", "2", (3,), ends=False, keeps=1, alone=True),
)
EVERYWHERE = ("clock", "node", "memory", "disk")  # not bound to a strategy and an iteration
MESSAGE = re.compile(r"(?:dpbench: )?(rank \d on \S+: \S+ \d+ KiB, iteration \d+: .*|incomplete: .*)")


class Fault(NamedTuple):
    """One fault of a campaign."""

    kind: Kind
    rank: str
    strategy: str
    iteration: int

    def __str__(self) -> str:
        value = f"={self.kind.value}" if self.kind.value else ""
        place = "" if self.kind.name in EVERYWHERE else f":{self.strategy}:{self.iteration}"
        return f"{self.kind.name}@{self.rank}{place}{value}"


class Outcome(NamedTuple):
    """How a job with a fault ended."""

    code: int
    printed: str
    seconds: float  #: from the fault on
    left: list[int]
    rows: list[list[str]]


def faults(seed: int) -> list[Fault]:
    """Return every fault once, in random order, each at a random iteration."""
    chosen = random.Random(seed)
    every = [
        Fault(kind, rank, strategy, chosen.randint(1, PER_SIZE * len(SIZES)))
        for kind in KINDS
        for rank in ("0", "last")
        for strategy in STRATEGIES
        if (kind.name, strategy) != ("drop", "mpi")  # a library's messages are its own
        and not (kind.alone and rank != "0")
    ]
    chosen.shuffle(every)
    return every


def spread(every: Sequence[Fault], runs: int) -> list[Fault]:
    """Return so many faults, all kinds about equally often."""
    by_kind = [[fault for fault in every if fault.kind == kind] for kind in KINDS]
    turns = [fault for turn in range(max(map(len, by_kind))) for some in by_kind for fault in some[turn : turn + 1]]
    return turns[:runs]


def outcome(fault: Fault, folder: Path) -> Outcome:
    """Run a job with the fault."""
    command, environ = launcher()
    mark, file = uuid.uuid4().hex, folder / f"{uuid.uuid4().hex}.csv"
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    arguments = ["-s", fault.strategy, "--sizes", ",".join(SIZES), "-n", str(SAMPLES), "-w", "1", "-q"]
    stalls = fault.kind.name in ("hang", "drop")  # else a busy machine must not look like one
    arguments += ["--timeout", str(TIMEOUT_S if stalls else 60), "--csv", str(file)]
    begin = time.time()
    with subprocess.Popen(
        [*command, "-n", str(RANKS), sys.executable, "-m", "dpbench", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environ, VARIABLE: str(fault), MARK: mark, "PYTHONPATH": path},
        start_new_session=True,
    ) as job:
        try:
            printed, _ = job.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            end_all(job.pid, f"{MARK}={mark}")
            printed = f"over 60 s\n{job.communicate()[0]}"
        left = list(survivors(job.pid, f"{MARK}={mark}"))
        end = time.time()
        while left and time.time() < end + SOON_S:  # a launcher's helpers may end a little after it
            time.sleep(0.05)
            left, end = list(survivors(job.pid, f"{MARK}={mark}")), time.time()
        end_all(job.pid, f"{MARK}={mark}")
    planted = re.findall(r"^planted \w+ at ([\d.]+)$", printed, re.MULTILINE)
    rows = list(csv.reader(file.read_text().splitlines())) if file.exists() else []
    return Outcome(job.returncode, printed, end - float(planted[0] if planted else begin), left, rows)


def complaints(fault: Fault, found: Outcome) -> Iterator[str]:
    """Yield what is wrong with how a job ended."""
    if found.code not in fault.kind.codes:
        yield f"exit code {found.code} instead of {fault.kind.codes}"
    if found.seconds > SOON_S + fault.kind.own_s:
        yield f"it took {found.seconds:.1f} s"
    if found.left:
        yield f"processes are left: {found.left}"
    said = MESSAGE.findall(found.printed)
    if not any(fault.kind.says in each for each in said) if fault.kind.says else said:
        yield f"the messages are {said}"
    if len(said) > 1 and fault.kind.name not in ("hang", "drop"):  # of what stands still each rank tells its part
        yield f"{len(said)} messages: {said}"
    header, *rows = found.rows or [[]]
    finished = (fault.iteration - 1) // PER_SIZE if fault.kind.ends else len(SIZES)
    finished = finished if fault.kind.keeps is None else fault.kind.keeps
    if not header or any(len(row) != len(header) for row in rows):
        yield "the CSV is damaged"
    elif sum(row[header.index("quality")] != "skipped" for row in rows) < finished:
        yield f"only {len(rows)} rows of {finished} sizes"


def failures(chosen: Sequence[Fault], beside: int = 2, show: bool = False) -> list[str]:
    """Run a job for each fault, some beside each other, and return what went wrong."""
    shared = Path("/dev/shm")
    before = set(shared.iterdir()) if shared.exists() else set()
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(beside) as pool:
        outcomes = pool.map(lambda fault: (fault, outcome(fault, Path(folder))), chosen)
        for fault, result in outcomes:
            wrong = list(complaints(fault, result))
            found += [f"{fault}: {'; '.join(wrong)}\n{result.printed[-1500:]}"] if wrong else []
            if show:
                failed = "  FAILED" if wrong else ""
                print(f"{fault}: exit {result.code} after {result.seconds:.1f} s{failed}", flush=True)
    remove_unused(before)
    return found


def main() -> int:
    """Run a campaign and print its counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    every = faults(options.seed)
    chosen = spread(every, options.runs or len(every))
    begin = time.monotonic()
    wrong = failures(chosen, show=True)
    print(*wrong, sep="\n")
    counts = Counter(f"{fault.kind.name} {fault.kind.value}".strip() for fault in chosen)
    print(", ".join(f"{count} × {kind}" for kind, count in counts.items()))
    print(f"{len(chosen)} jobs in {time.monotonic() - begin:.0f} s, seed {options.seed}: {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
