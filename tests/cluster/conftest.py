"""One Slurm for all tests of the folder."""

from collections.abc import Iterator

import pytest
from slurm import Slurm


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    with Slurm() as cluster:
        yield cluster
