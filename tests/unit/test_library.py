"""What a process that loads the MPI library says of it, whatever else it prints."""

from pathlib import Path

import pytest

from dpbench.engine.library import bound_library
from dpbench.errors import PlatformError

STUB = """
import atexit, sys
sys.modules["mpi4py.MPI"] = M = type(sys)("MPI")
__path__ = []
rc = MPI = M
M.Get_library_version = lambda: "Strange MPI 1.0"
M.Init = lambda: None
"""


def stub(folder: Path, monkeypatch: pytest.MonkeyPatch, more: str) -> None:
    (folder / "mpi4py.py").write_text(STUB + more)
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.parametrize("started", [False, True])
def test_what_a_library_prints_at_its_end_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: bool
) -> None:
    stub(tmp_path, monkeypatch, "print('[0] starts')\natexit.register(print, '[0] statistics: none')")
    assert bound_library(started=started).version == "Strange MPI 1.0"


def test_a_process_that_ends_early_without_a_word_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(tmp_path, monkeypatch, "M.Init = lambda: sys.exit(0)")
    with pytest.raises(PlatformError, match=r"the MPI library cannot start here \(exit code 0\)"):
        bound_library(started=True)
