"""What a process that loads the MPI library says of it, whatever else it prints."""

from pathlib import Path

import pytest

from dpbench.engine import library
from dpbench.engine.library import Library, bound_library, local_launcher
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


@pytest.mark.parametrize(
    ("version", "more"), [("Open MPI v5.0.11", ["--oversubscribe"]), ("MPICH Version:      5.0.2", [])]
)
def test_more_ranks_than_cores_start_on_this_machine_with_either_library(
    version: str, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "bound_library", lambda: Library(version, None))
    monkeypatch.setattr(library, "find_mpiexec", lambda _: "mpiexec")
    command, _ = local_launcher()
    assert command == ["mpiexec", *more]
