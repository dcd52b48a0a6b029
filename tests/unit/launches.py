"""Result files and launches for the tests of comparisons, made instead of measured."""

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from dpbench.results.csvtext import HEADER, encode
from dpbench.results.observed import Identity, Observation, ResultFile
from dpbench.results.pairs import Side
from dpbench.results.record import Row

TIMES = {"ps": 100e-6, "sharded-ps": 90e-6, "ring": 200e-6, "mpi": 50e-6}
SERVERS = {"ps": 1, "sharded-ps": 4}
SPREAD = 2.326  #: standard deviations between the extremes of 5 normal values, on average


def row(strategy: str = "ring", time: float | None = 1e-3, run: str = "r", **values: Any) -> Row:
    """A row of one launch of 4 ranks at 4 KiB, its interval within 2 %; without a time where there is none."""
    size = values.get("bytes", 4096)
    given = {} if time is None else {
        "time_median_s": time, "time_ci_low_s": time * 0.98, "time_ci_high_s": time * 1.02,
        "algbw_GB_per_s": size / time / 1e9, "busbw_GB_per_s": 1.5 * size / time / 1e9,
    }  # fmt: skip
    defaults = {
        "run_id": run, "started_at": "2026-07-01T12:00:00.000Z", "finished_at": "2026-07-01T12:00:01.000Z",
        "dpbench_version": "0.1.0", "command": f"dpbench run --ranks 4 --csv {run}.csv",
        "mpi_library": "Open MPI 5.0.11", "thread_level": "funneled", "ranks": 4, "workers": 4, "nodes": 1,
        "scope": "host-memory", "device": "cpu", "dtype": "float32", "bytes": size, "count": size // 4,
        "dedicated": 0, "servers": SERVERS.get(strategy), "slices_requested": "auto", "slices": 1, "window": 1,
        "seed": 1, "wrong_elements": 0, "quality": "ok",
    }  # fmt: skip
    return Row(**{"strategy": strategy, **defaults, **given, **values})


def csv_text(rows: Iterable[Row]) -> bytes:
    return HEADER + encode(map(astuple, rows))


def csv_file(path: Path, rows: Iterable[Row]) -> str:
    path.write_bytes(csv_text(rows))
    return str(path)


def json_file(path: Path, rows: Iterable[Row], **more: Any) -> str:
    path.write_text(json.dumps({"schema": 1, "rows": [asdict(each) for each in rows], **more}))
    return str(path)


def observed(strategy: str, size: int, run: str, median: float, half: float = 0.02) -> Observation:
    identity = Identity(
        strategy, "allreduce", size, "float32", 4, 4, 1, "cpu", "barrier", SERVERS.get(strategy), 0, "auto", "funneled"
    )
    low, high = median * (1 - half), median * (1 + half)
    return Observation(identity=identity, run_id=run, quality="ok", median=median, ci_low=low, ci_high=high)


def side(
    name: str, noise: random.Random, launches: int, *, spread: float, sizes: Iterable[int] = (4096,),
    delay: Mapping[str, float] = {}, shared: float = 0.5,
) -> Side:  # fmt: skip
    """Launches of the same: each row of a launch is off by its own amount, and by one that the launch's rows share.

    `spread` is between the extremes of 5 launches, on average, as a fraction; `shared` of its variance is the launch's.
    """
    deviation = spread / SPREAD
    found = []
    for number in range(launches):
        whole = noise.gauss(0, deviation * shared**0.5)
        for size in sizes:
            for strategy, time in TIMES.items():
                off = 1 + whole + noise.gauss(0, deviation * (1 - shared) ** 0.5)
                slow = 1 + delay.get(strategy, 0)
                found.append(observed(strategy, size, f"{name}{number}", time * (size / 4096) ** 0.8 * off * slow))
    return Side(name, [ResultFile(path=f"{name}.csv", observations=tuple(found))])
