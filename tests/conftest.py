"""Makes `tests/` importable, so that tests can say `from launcher import mpirun`, and keeps jobs from meeting.

With pytest-xdist (`-n 2 --dist loadgroup`) the tests of a folder that start ranks, labs or a Slurm run in turn, beside
others.
"""

import os
from pathlib import Path

import pytest

# Open MPI spends a second of every start on asking libfabric for networks that a test's ranks do not use.
os.environ.setdefault("OMPI_MCA_btl", "^ofi")

ALONE = {Path(__file__).parent / folder for folder in ("mpi", "cluster", "standin", "lab")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for folder in ALONE.intersection(item.path.parents):
            item.add_marker(pytest.mark.xdist_group(folder.name))
