"""Makes `tests/` importable, so that tests can say `from launcher import mpirun`, and keeps jobs from meeting.

With pytest-xdist (`-n 2 --dist loadscope`) the tests that start ranks, labs or a Slurm run in turn, beside others.
"""

import os
from typing import Any

import pytest

# Open MPI spends a second of every start on asking libfabric for networks that a test's ranks do not use.
os.environ.setdefault("OMPI_MCA_btl", "^ofi")

# Of each of these one test at a time, beside others. Ranks that wait use a core each: those of two jobs would crawl.
IN_TURN = {
    "tests/mpi": "ranks",
    "tests/faults": "faults",  # they wait a lot
    "tests/cluster": "cluster",
    "tests/standin": "standin",
    "tests/lab": "lab",
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler that gives all tests of such a place to one worker, and all others to whoever is free."""
    from xdist.scheduler import LoadScopeScheduling

    class InTurn(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((turn for place, turn in IN_TURN.items() if nodeid.startswith(place)), nodeid)

    return InTurn(config, log)
