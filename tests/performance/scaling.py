"""How times grow with the ranks, and what the order of a ring costs, on emulated links, against their targets.

`python tests/performance/scaling.py`, on a quiet machine, as root or where user namespaces are allowed: some 4 minutes.
16 nodes in one allocation, 4, 8 and 16 of them at a time; then 4 nodes with two ranks each, dealt out in turn.
"""

import csv
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from typing import Any

from figures import Line, report

TURNS = 3

Row = dict[str, Any]


def rows(lab: str, run: str) -> list[Row]:
    """Return the rows of a run in a lab."""
    words = f"-m dpbench lab {lab} -- run {run} -q --csv -".split()
    job = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if job.returncode:
        sys.exit(f"{' '.join(words)} ended with {job.returncode}\n{job.stderr}")
    return list(csv.DictReader(job.stdout.splitlines()))


def growth() -> Iterator[Line]:
    """Yield, of ring and ps, how much longer 16 ranks take than 4, and how close each comes to its limit."""
    found = rows("--nodes 16 --rate 100mbit", "-s ps,ring --scaling 4,8,16 --sizes 4MB -w 1 -n 7")
    row = {(each["strategy"], int(each["ranks"])): each for each in found}
    for name, least, most in (("ring", None, 1.35), ("ps", 4.5, 5.5)):
        grown = float(row[name, 16]["time_median_s"]) / float(row[name, 4]["time_median_s"])
        yield Line(f"16 nodes, 100 Mbit/s, 4 MB: {name}, 16 ranks over 4", grown, "x time", most, least)
        bound = float(row[name, 16]["limit_s"]) / float(row[name, 4]["limit_s"])
        yield Line("   its bound", bound, "x time")
        for ranks in (4, 8, 16):
            seconds, fraction = (float(row[name, ranks][column]) for column in ("time_median_s", "limit_fraction"))
            yield Line(f"   {ranks:2} ranks: {seconds:.3f} s", fraction, "of limit", at_least=0.93)


def order() -> Iterator[Line]:
    """Yield how much longer a ring takes that leaves its node with every hop."""
    lab = "--nodes 4 --rate 200mbit --ranks-per-node 2 --distribution cyclic"
    times: dict[str, list[float]] = {"node": [], "world": []}
    for _ in range(TURNS):
        for name, seconds in times.items():
            (row,) = rows(lab, f"-s ring --ring-order {name} --sizes 16MB -w 1 -n 3 --calibrate 0")
            seconds.append(float(row["time_median_s"]))
    node, world = (median(seconds) for seconds in times.values())
    what = f"4 nodes × 2, 200 Mbit/s, 16 MB: ring in the world's order {world:.2f} s over node by node {node:.2f} s"
    yield Line(what, world / node, "x time", at_least=1.5)


def lines() -> Iterator[Line]:
    yield from growth()
    yield from order()


if __name__ == "__main__":
    sys.exit(report("as ranks are added", lines()))
