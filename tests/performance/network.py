"""How close the strategies come to the wire, and to their peers, on emulated links, against their targets.

`python tests/performance/network.py MPICH_PYTHON OPEN_MPI_PYTHON [GLOO_PYTHON]`, on a quiet machine: lays out its own
labs, takes some 25 minutes, prints a table and exits with 1 if a target was missed. Each argument is the Python of an
environment: dpbench with MPICH, with Open MPI, and one with PyTorch for its Gloo. Who is compared takes turns in one
lab, with the same links.
"""

import csv
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from figures import Line, report

from dpbench.units import parse_rate, parse_size

HERE = Path(__file__).parent
OURS = "ps,sharded-ps,ring"
TAKE = "-w 1 -n 7 -q --csv -"
TURNS, SMALL_TURNS = 2, 15
MEMORY, MEMORY_NODES = 256_000_000, 8

Row = dict[str, str]


class Lab(NamedTuple):
    """Nodes, the rate of their links, and the size of the gradient."""

    nodes: int
    rate: str
    size: str

    def run(self, python: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run words in the lab, laid out by that Python's dpbench."""
        command = [python, "-m", "dpbench", "lab", "--nodes", str(self.nodes), "--rate", self.rate, "--", *words]
        job = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if job.returncode:
            sys.exit(f"{self}: {' '.join(words)} ended with {job.returncode}\n{job.stderr}")
        return job

    def __str__(self) -> str:
        return f"{self.nodes} nodes, {self.rate}, {self.size}"


LABS = [Lab(nodes, "200mbit", "16MB") for nodes in (2, 4, 8)] + [Lab(16, "100mbit", "4MB"), Lab(4, "1gbit", "64MB")]
OTHERS = [Lab(nodes, "50mbit", size) for nodes in (3, 5, 6) for size in ("1MB", "3.7MB")]
SMALL = Lab(8, "200mbit", "4K")


class Results:
    """What was measured in one lab: rows by strategy, `--textbook` apart, and the peer's times."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.rows: dict[str, list[Row]] = defaultdict(list)
        self.gloo: list[float] = []

    def column(self, name: str, column: str) -> float:
        return median(float(row[column]) for row in self.rows[name])

    def seconds(self, name: str) -> float:
        return self.column(name, "time_median_s")

    def fraction(self, name: str, least: float) -> Line:
        """Return how close a strategy comes to its limit."""
        return Line(f"{self.lab}: {name}", self.column(name, "limit_fraction"), "of limit", at_least=least)

    def faster(self, name: str, other: str, least: float | None) -> Line:
        """Return how many times faster a strategy is than another."""
        return Line(f"{self.lab}: {name} / {other}", self.seconds(other) / self.seconds(name), "x", at_least=least)

    def wire(self) -> Iterator[Line]:
        """Yield the least and the greatest calibrated rate, as a fraction of the rate that tc was given."""
        rows = [row for rows in self.rows.values() for row in rows if row["limit_s"]]
        links = [float(row["busiest_rank_bytes"]) / float(row["limit_s"]) for row in rows]
        rates = [link / parse_rate(self.lab.rate) for link in links]
        yield Line(f"{self.lab}: calibrated rate, least", min(rates), "of tc's", at_least=0.93)
        yield Line(f"{self.lab}: calibrated rate, greatest", max(rates), "of tc's", at_most=0.98)


def dpbench(strategies: str, lab: Lab, *more: str) -> list[str]:
    words = f"-m dpbench run --ranks {lab.nodes} -s {strategies} --sizes {lab.size} {TAKE}"
    return ["PYTHON", *words.split(), *more]


def gloo(python: str, lab: Lab) -> list[str]:
    peer = f"{python} {HERE / 'gloo.py'} {parse_size(lab.size)} 7 10.77.0.1"
    return f"mpiexec -n {lab.nodes} env GLOO_SOCKET_IFNAME=eth0 {peer}".split()


def measured(lab: Lab, python: str, commands: Iterable[list[str]]) -> Results:
    """Run commands one after the other in one lab and gather what they print."""
    todo = [[python if word == "PYTHON" else word for word in command] for command in commands]
    print(f"{lab}: {len(todo)} launches", file=sys.stderr, flush=True)
    script = (
        "import json, subprocess, sys\n"
        "print(json.dumps([subprocess.run(c, check=True, stdout=-1, text=True).stdout for c in json.load(sys.stdin)]))"
    )
    job = lab.run(python, python, "-c", script, stdin=json.dumps(todo))
    results = Results(lab)
    for words, text in zip(todo, json.loads(job.stdout.splitlines()[-1]), strict=True):
        if "dpbench" not in words:
            results.gloo.append(float(text))
            continue
        suffix = " --textbook" * ("--textbook" in words)
        for row in csv.DictReader(text.splitlines()):
            results.rows[row["strategy"] + suffix].append(row)
    return results


def large(mpich: str, torch: str | None) -> Iterator[Line]:
    """Yield the figures of the labs that the rule for slices was made on."""
    for lab in LABS:
        peer = [gloo(torch, lab)] if torch else []
        turn = [dpbench("sharded-ps,ring,mpi", lab), *peer]
        once = [dpbench("ps", lab), dpbench("ps,ring", lab, "--textbook")]
        found = measured(lab, mpich, [*turn * TURNS, *once])
        yield from found.wire()
        yield found.fraction("ring", 0.97)
        yield found.fraction("sharded-ps", 0.95)
        yield found.fraction("ps", 0.95)
        yield found.fraction("ps --textbook", 0.47)
        yield found.fraction("ring --textbook", 0.90)
        many = lab.nodes >= 4
        yield found.faster("ring", "mpi", 1.5 if many else None)
        yield found.faster("sharded-ps", "mpi", 1.4 if many else None)
        yield found.faster("ps", "ps --textbook", 1.8 if many else None)
        if found.gloo:
            ratio = median(found.gloo) / found.seconds("ring")
            yield Line(f"{lab}: ring / Gloo", ratio, "x", at_least=0.99)


def others(mpich: str) -> Iterator[Line]:
    """Yield the figures of labs that the rule was not made on, and of a small message."""
    for lab in OTHERS:
        found = measured(lab, mpich, [dpbench(OURS, lab)])
        yield from found.wire()
        for name, least in (("ring", 0.93), ("sharded-ps", 0.90), ("ps", 0.90)):
            yield found.fraction(name, least)
    found = measured(SMALL, mpich, [dpbench(OURS + ",mpi", SMALL)] * SMALL_TURNS)
    best = min(OURS.split(","), key=found.seconds)
    yield Line(f"{SMALL}: {best} / mpi", found.seconds(best) / found.seconds("mpi"), "x time", at_most=1.0)


def open_mpi(python: str) -> Iterator[Line]:
    """Yield the ring beside Open MPI's all-reduce."""
    for lab in LABS:
        found = measured(lab, python, [dpbench("ring,mpi", lab)])
        yield Line(f"{lab}: ring, Open MPI", found.column("ring", "limit_fraction"), "of limit")
        yield Line(f"{lab}: ring / mpi, Open MPI", found.seconds("mpi") / found.seconds("ring"), "x")


def memory(python: str) -> Iterator[Line]:
    """Yield what the master has beyond an idle process."""

    def peak(nbytes: int) -> int:
        lab = Lab(MEMORY_NODES, "10gbit", str(nbytes))
        script = str(HERE / "peak.py")
        words = f"{script} run -s ps --sizes {nbytes} -w 1 -n 1 --calibrate 0"
        job = lab.run(python, "mpiexec", "-n", str(MEMORY_NODES), python, *words.split())
        return int(next(line.split()[1] for line in job.stderr.splitlines() if line.startswith("peak ")))

    most = 2 * MEMORY + 64 * 2**20 + 2e6 * (MEMORY_NODES - 1)
    more = (peak(MEMORY) - peak(4)) / 1e6
    yield Line(f"{MEMORY_NODES} nodes, 256 MB: memory of ps's master", more, "MB", at_most=most / 1e6)


def lines(mpich: str, other: str, torch: str | None = None) -> Iterator[Line]:
    yield from large(mpich, torch)
    yield from others(mpich)
    yield from open_mpi(other)
    yield from memory(mpich)


if __name__ == "__main__":
    sys.exit(report("on emulated links", lines(*sys.argv[1:])))
