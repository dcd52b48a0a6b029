"""How fast the engine is beside the MPI library's own all-reduce, in shared memory, against its targets.

`python tests/performance/engine.py [LAUNCHES]`, on a quiet machine with at least 2 cores: starts its own ranks, takes
some minutes, prints a table and exits with 1 if a target was missed. Each figure is the median over launches of what
one launch says, and within a launch the strategies take turns: only such figures can be compared.
"""

import csv
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from figures import Line, report

from dpbench.engine.library import bound_library, local_launcher

LAUNCHES = 5
OURS = ("ps", "sharded-ps", "ring")
KIB, MIB = 2**10, 2**20
LARGE = tuple(MIB * 4**power for power in range(5))

# Above its thresholds glibc maps memory anew for each call, and the library's all-reduce takes 2 to 4 times longer.
RAISED = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "4294967296")

Times = dict[tuple[str, int], float]
"""The median time, in seconds, of each strategy and size in one launch."""


def launch(ranks: int, *args: str, **env: str) -> str:
    """Run `python *args` on `ranks` ranks and return what it printed."""
    command, environ = local_launcher()
    command += ["-n", str(ranks), sys.executable, *args]
    job = subprocess.run(command, env=environ | env, capture_output=True, text=True, check=False)
    if job.returncode:
        sys.exit(f"{' '.join(args)} ended with {job.returncode}\n{job.stderr}")
    return job.stdout


def measure(ranks: int, sizes: Sequence[int], iters: int, names: Sequence[str], **env: str) -> Times:
    """Return the times of one launch of dpbench."""
    args = f"-s {','.join(names)} --sizes {','.join(map(str, sizes))} -n {iters} -w {iters // 10 + 2} --csv - -q"
    text = launch(ranks, "-m", "dpbench", *args.split(), **env)
    rows = csv.DictReader(text.splitlines())
    return {(row["strategy"], int(row["bytes"])): float(row["time_median_s"]) for row in rows}


class Launches:
    """Several launches of the same: what is said of them is the median of what each says."""

    def __init__(self, times: Iterable[Times]) -> None:
        self.times = list(times)

    def seconds(self, name: str, size: int) -> float:
        return median(times[name, size] for times in self.times)

    def ratio(self, name: str, other: str, size: int) -> float:
        """Return the time of `name` over that of `other`."""
        return median(times[name, size] / times[other, size] for times in self.times)


def small(launches: Launches, mpich: bool) -> Iterator[Line]:
    """Yield the cost of small messages: times of ours over the library's."""
    targets = {("ring", 8): 6.0, ("ring", 4 * KIB): 3.5} if mpich else {}
    for size in (8, 4 * KIB):
        yield Line(f"2 ranks, {size} B, mpi", launches.seconds("mpi", size) * 1e6, "us")
        for name in OURS:
            ratio = launches.ratio(name, "mpi", size)
            yield Line(f"2 ranks, {size} B, {name} / mpi", ratio, "x time", at_most=targets.get((name, size)))


def large(launches: Launches, how: str, least: float | None) -> Iterator[Line]:
    """Yield the bandwidth of large messages: the ring's over the library's."""
    for size in LARGE:
        rate = size / launches.seconds("ring", size) / 1e9
        what = f"2 ranks, {size // MIB} MiB, {how}, ring ({rate:.1f} GB/s) / mpi"
        yield Line(what, launches.ratio("mpi", "ring", size), "x busbw", at_least=least)


def crowded(launches: Launches) -> Iterator[Line]:
    """Yield the times of 4 ranks, which take turns where there are fewer cores."""
    for name in OURS:
        yield Line(f"4 ranks, 4096 B, {name}", launches.seconds(name, 4 * KIB) * 1e3, "ms", at_most=1)


def lines(count: int) -> Iterator[Line]:
    """Measure in `count` launches of each kind and yield the figures."""
    mpich = not bound_library().is_open_mpi
    program = str(Path(__file__).with_name("nothing.py"))
    nothing = median(float(launch(2, program)) for _ in range(count))
    yield Line("an exchange of nothing", nothing / 1e3, "us", at_most=2)

    def launches(*args: Any, **env: str) -> Launches:
        return Launches(measure(*args, **env) for _ in range(count))

    yield from small(launches(2, (8, 4 * KIB), 3000, (*OURS, "mpi")), mpich)
    yield from large(launches(2, LARGE, 15, ("ring", "mpi"), **RAISED), "thresholds raised", least=0.95)
    yield from large(launches(2, LARGE, 15, ("ring", "mpi")), "as users meet it", least=None)
    yield from crowded(launches(4, (4 * KIB,), 300, OURS))


def main() -> int:
    """Print the table; return 1 if a target was missed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else LAUNCHES
    library = " ".join(bound_library().version.splitlines()[0].split(",")[0].split())
    return report(f"{library}; cores: {os.cpu_count()}; launches: {count}", lines(count))


if __name__ == "__main__":
    sys.exit(main())
