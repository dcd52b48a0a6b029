"""Makes `tests/` importable, so that tests can say `from launcher import mpirun`, and keeps jobs from meeting.

With pytest-xdist (`-n 2 --dist loadgroup`) what starts ranks, labs or a Slurm runs in turn, beside all the rest.
"""

from pathlib import Path

import pytest

ALONE = {Path(__file__).parent / folder for folder in ("mpi", "cluster", "standin", "lab")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if ALONE.intersection(item.path.parents):
            item.add_marker(pytest.mark.xdist_group("jobs"))
