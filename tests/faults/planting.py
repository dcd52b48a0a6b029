"""Plant faults of every kind, on the first and the last of 4 ranks, in every strategy, at random iterations.

    planting.py [--runs N] [--seed N]     by default every fault once, with the MPI library of this Python

However a rank fails: the job ends soon, with the right exit code and one message, the sizes that were finished are in
the CSV, and no process is left.
"""

import argparse
import csv
import os
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
sys.path[:0] = [str(ROOT / "tests"), str(ROOT), str(Path(__file__).parent)]

from kinds import BOTH, SAMPLES, SIZES, TIMEOUT_S, Fault, faults, spread  # noqa: E402
from launcher import end_all, launcher, remove_unused, survivors  # noqa: E402

from dpbench.hooks import VARIABLE  # noqa: E402

RANKS = 4
SOON_S = 10.0  # after the fault and its own delay; a job that none ends only has to end
LONGEST_S = 60.0
MARK = "DPBENCH_TEST_JOB"
MESSAGE = re.compile(r"(?:dpbench: )?(rank \d on [^:\s]+: .*|incomplete: .*)")


class Outcome(NamedTuple):
    """How a job with a fault ended."""

    code: int
    printed: str
    seconds: float | None  #: from the fault on; None if it does not tell when it happens
    left: list[int]
    rows: list[list[str]]


def outcome(fault: Fault, folder: Path) -> Outcome:
    """Run a job with the fault."""
    command, environ = launcher()
    mark, file = uuid.uuid4().hex, folder / f"{uuid.uuid4().hex}.csv"
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    arguments = ["-s", fault.strategy, "--sizes", ",".join(SIZES), "-n", str(SAMPLES), "-w", "1", "-q"]
    stalls = fault.kind.name in ("hang", "drop")  # else a busy machine must not look like one
    arguments += ["--timeout", str(TIMEOUT_S if stalls else 60), "--csv", str(file)]
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
            printed, _ = job.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            end_all(job.pid, f"{MARK}={mark}")
            printed = f"over {LONGEST_S:.0f} s\n{job.communicate()[0]}"
        left = list(survivors(job.pid, f"{MARK}={mark}"))
        over = end = time.time()
        while left and end < over + SOON_S:  # a launcher's helpers may end a little after it
            time.sleep(0.05)
            left, end = list(survivors(job.pid, f"{MARK}={mark}")), time.time()
        end_all(job.pid, f"{MARK}={mark}")
    planted = re.findall(r"^planted \w+ at ([\d.]+)$", printed, re.MULTILINE)
    rows = list(csv.reader(file.read_text().splitlines())) if file.exists() else []
    return Outcome(job.returncode, printed, end - float(planted[0]) if planted else None, left, rows)


def complaints(fault: Fault, found: Outcome) -> Iterator[str]:
    """Yield what is wrong with how a job ended."""
    if found.code not in fault.kind.codes:
        yield f"exit code {found.code} instead of {fault.kind.codes}"
    if fault.kind.ends and (found.seconds is None or found.seconds > SOON_S + fault.kind.own_s):
        yield "it was not planted" if found.seconds is None else f"it took {found.seconds:.1f} s"
    if found.left:
        yield f"processes are left: {found.left}"
    yield from complaints_about_words(fault, found.printed)
    header, *rows = found.rows or [[]]
    if found.rows and (not header or any(len(row) != len(header) for row in rows)):
        yield "the CSV is damaged"
    elif sum(row[header.index("quality")] != "skipped" for row in rows) < fault.finished:
        yield f"only {len(rows)} rows of {fault.finished} sizes"


def complaints_about_words(fault: Fault, printed: str) -> Iterator[str]:
    """Yield what is wrong with what a job said: one message, one remark that it is incomplete, a bug's traceback."""
    said = MESSAGE.findall(printed)
    if not any(fault.kind.says in each for each in said) if fault.kind.says else said and not fault.kind.ends:
        yield f"the messages are {said}"
    remarks = [each for each in said if each.startswith("incomplete: ")]
    messages = len(said) - len(remarks)
    several = fault.kind.name in ("hang", "drop") or fault.rank == BOTH  # each rank may tell its part
    if len(remarks) > 1 or (messages > 1 and not several):
        yield f"{len(said)} messages: {said}"
    if ("Traceback" in printed) != fault.kind.is_bug:
        yield "there is a traceback" if "Traceback" in printed else "the traceback is missing"


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
                after = "" if result.seconds is None else f" {result.seconds:.1f} s after it"
                print(f"{fault}: exit {result.code}{after}{failed}", flush=True)
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
