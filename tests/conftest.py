"""Makes `tests/` importable, so that tests can say `from launcher import mpirun`, and keeps jobs from meeting.

With pytest-xdist (`-n 2 --dist loadscope`) the tests that start ranks, labs or a Slurm run in turn, beside others.
"""

import os
from typing import Any

import pytest

# Open MPI spends a second of every start on asking libfabric for networks that a test's ranks do not use.
os.environ.setdefault("OMPI_MCA_btl", "^ofi")

# Of each of these one test at a time. Those of the README and the faults, which wait a lot, may meet the others.
IN_TURN = ("tests/mpi/test_readme.py", "tests/mpi", "tests/faults", "tests/cluster", "tests/standin", "tests/lab")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler that gives all tests of such a place to one worker, and all others to whoever is free."""
    from xdist.scheduler import LoadScopeScheduling

    class InTurn(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((place for place in IN_TURN if nodeid.startswith(place)), nodeid)

    return InTurn(config, log)
