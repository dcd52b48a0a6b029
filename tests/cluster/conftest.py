"""One Slurm for all tests of the folder, and a way to submit the scripts of `jobs/` to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm import Slurm
from submitting import Desk


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    with Slurm() as cluster:
        yield cluster


@pytest.fixture
def desk(slurm: Slurm, tmp_path: Path) -> Desk:
    return Desk(slurm, tmp_path / "some where")
