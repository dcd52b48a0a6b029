"""The tests' own launcher: a test that hangs leaves nothing behind."""

import tempfile
import uuid
from pathlib import Path

import pytest
from launcher import TimedOut, mpirun, survivors

HANG = """
import os, sys, time
open(f"{sys.argv[1]}/{os.getpid()}", "w").close()
print("here", flush=True)
time.sleep(60)
"""

# One write per line: launchers may mix what ranks write in pieces.
WORLD = """
from mpi4py.MPI import COMM_WORLD as world
world.Barrier()
print(f"{world.rank} {world.size}\\n", end="")
"""


def test_no_rank_outlives_a_job_that_takes_too_long(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    with pytest.raises(TimedOut, match="here"):
        mpirun(3, "-c", HANG, str(tmp_path), env={"HANG": mark}, timeout=4)
    assert len(list(tmp_path.iterdir())) == 3
    assert list(survivors(-1, f"HANG={mark}")) == []


def test_a_killed_launcher_leaves_no_folder_that_would_stop_the_next_of_its_process_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(TimedOut):
        mpirun(2, "-c", "import time; time.sleep(60)", env={"TMPDIR": str(tmp_path)}, timeout=3)
    assert list(tmp_path.iterdir()) == []


def test_ranks_belong_to_one_world() -> None:
    job = mpirun(3, "-c", WORLD)
    assert job.returncode == 0
    assert sorted(job.stdout.splitlines()) == ["0 3", "1 3", "2 3"]
