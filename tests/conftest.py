"""Makes `tests/` importable, so that tests can say `from launcher import mpirun`, and keeps jobs from meeting.

With pytest-xdist (`-n 2 --dist loadgroup`) the tests of a folder that start labs or a Slurm run in turn, beside others,
and so do those of a file that start ranks.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ALONE = {HERE / folder for folder in ("cluster", "standin", "lab")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE / "mpi":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        for folder in ALONE.intersection(item.path.parents):
            item.add_marker(pytest.mark.xdist_group(folder.name))
