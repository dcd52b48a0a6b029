"""Jobs that several tests start: the programs beside them, and dpbench itself with its CSV."""

import csv
import os
from collections.abc import Mapping
from pathlib import Path

from launcher import Finished, mpirun

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

DPBENCH = ("-m", "dpbench")

Row = dict[str, str]


def program(ranks: int, name: str, *args: str, env: Mapping[str, str] | None = None, timeout: float = 60) -> Finished:
    """Run a program of `programs/`; `-m mpi4py` ends all ranks when one raises."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    script = str(HERE / "programs" / f"{name}.py")
    return mpirun(ranks, "-m", "mpi4py", script, *args, env={"PYTHONPATH": path, **(env or {})}, timeout=timeout)


def rows_of(text: str) -> list[Row]:
    """Return the rows of a CSV; each has as many fields as the header, whatever became of its case."""
    header, *rows = csv.reader(text.splitlines())
    assert all(len(row) == len(header) for row in rows)
    return [dict(zip(header, row, strict=True)) for row in rows]
