"""Whether `dpbench compare` calls launches of the same different, and finds a delay of 10 % that is planted in one.

`python tests/performance/launches.py [COMPARISONS [LAUNCHES [lab]]]`, on a quiet machine: 2 ranks in shared memory, or
on 2 emulated nodes, where the links make launches alike. The two sides take turns, launch by launch, so that a machine
that drifts does so for both. A link makes good for what it was kept waiting, up to the 5 ms of its bucket: sizes must
be large enough for that to be little.

Prints how often the same was called different, all rows together with LAUNCHES a side and each row alone with 4, and
how often a delay of the ring was found and another row blamed. A comparison takes some ten seconds, in a lab minutes.
"""

import csv
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from dpbench.hooks import VARIABLE
from dpbench.results.compare import SIGNIFICANT, Rule, compare
from dpbench.results.pairs import Side, Verdict
from dpbench.results.ranksum import p_value
from dpbench.results.reading import read

LAB = "lab" in sys.argv
ON = ["lab", "--nodes", "2", "--rate", "200mbit", "--", "run"] if LAB else ["run", "--ranks", "2"]
HOW = "--sizes 4M -n 6 -w 1 --calibrate 0" if LAB else "--sizes 256K -n 100"
DELAYED, SHARE = "ring", 0.10
CHANGED = {Verdict.SLOWER, Verdict.FASTER}


def launch(path: Path, late: float = 0) -> None:
    """Append the rows of one launch to a CSV; one strategy is `late` seconds late in it, for hooks take time too."""
    typed = [*ON, *f"-s ps,sharded-ps,ring,mpi {HOW} -q --csv {path} --append".split()]
    env = os.environ | {VARIABLE: f"slow@1:{DELAYED}:1={late:.9f}"}
    command = [sys.executable, "-m", "dpbench", *typed]
    job = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if job.returncode:
        sys.exit(f"a launch ended with {job.returncode}\n{job.stderr}")


def delay() -> float:
    """Return the seconds that are 10 % of the delayed strategy's time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "once.csv")
        for _ in range(3):
            launch(path)
        rows = csv.DictReader(path.read_text().splitlines())
        return SHARE * median(float(row["time_median_s"]) for row in rows if row["strategy"] == DELAYED)


def compared(launches: int, late: float = 0) -> tuple[set[str], int]:
    """Return which rows are called slower or faster, and how many would be alone, by 4 launches; `late` is NEW."""
    with tempfile.TemporaryDirectory() as folder:
        base, new = Path(folder, "base.csv"), Path(folder, "new.csv")
        for _ in range(launches):
            launch(base)
            launch(new, late)
        found = compare(Side("BASE", [read(str(base))]), Side("NEW", [read(str(new))]), Rule())
    alone = 0
    for pair in found.pairs:
        four = replace(pair, base=pair.base[:4], new=pair.new[:4])
        alone += p_value(*four.medians) <= SIGNIFICANT and four.effect(Rule.tolerance) is not None
        spread = [(max(side) - min(side)) / median(side) for side in pair.medians]
        print(pair.identity.strategy, f"{float(pair.ratio):.3f}, spreads {spread[0]:.0%} {spread[1]:.0%}", pair.verdict)
    return {pair.identity.strategy for pair in found.pairs if pair.verdict in CHANGED}, alone


def main() -> None:
    """Print the counts."""
    comparisons = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    launches = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    same = [compared(launches) for _ in range(comparisons)]
    called, alone = sum(bool(names) for names, _ in same), sum(count for _, count in same)
    print(f"the same: {called} of {comparisons} called different; each row alone, 4 v 4: {alone} of {4 * comparisons}")
    late = delay()
    found = [compared(launches, late)[0] for _ in range(comparisons)]
    hits, blamed = sum(DELAYED in each for each in found), sum(bool(each - {DELAYED}) for each in found)
    print(f"{DELAYED} {SHARE:.0%} slower: found in {hits} of {comparisons}, another row blamed in {blamed}")


if __name__ == "__main__":
    main()
