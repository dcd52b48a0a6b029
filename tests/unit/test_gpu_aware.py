import os
import sys

import pytest

from dpbench.engine import gpu_aware
from dpbench.engine.gpu_aware import awareness, trial, ucx_with_cuda


def child(program: str) -> tuple[str, ...]:
    return sys.executable, "-c", program


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("", "works"),
        ("raise SystemExit(1)", "failed"),
        ("raise SystemExit(3)", "failed"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
        ("raise SystemExit(139)", "crashed"),
    ],
)
def test_a_trial_tells_works_failed_and_crashed_apart(program: str, outcome: str) -> None:
    assert trial(child(program)) == outcome


def test_a_trial_that_hangs_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_aware, "PATIENCE_S", 0.2)
    assert trial(child("import time; time.sleep(60)")) == "failed"


def test_a_trial_is_not_taken_for_a_rank_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "PRTE_LAUNCHED", "HYDI_FD", "MPI_LOCALRANKID"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OMPI_MCA_pml", "ucx")
    names = "[n for n in os.environ if n.startswith(('PMI', 'PRTE', 'OMPI_COMM', 'HYD', 'MPI_LOCAL'))]"
    program = f"import os; raise SystemExit(bool({names}) or os.environ['OMPI_MCA_pml'] != 'ucx')"
    assert trial(child(program)) == "works"


def test_ucx_counts_only_where_it_is_loaded_and_carries_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    open_mpi = {"OMPI_MCA_pml": "ucx"}
    mpich = {"MPIR_CVAR_CH4_NETMOD": "ucx", "MPIR_CVAR_NOLOCAL": "1"}
    assert not ucx_with_cuda(open_mpi)
    monkeypatch.setattr(gpu_aware, "mapped", lambda name: ["/lib/libuct_cuda.so.0"] if name == "libuct_cuda" else [])
    assert ucx_with_cuda(open_mpi)
    assert ucx_with_cuda(mpich)
    assert not ucx_with_cuda({"OMPI_MCA_pml": "ob1"})
    assert not ucx_with_cuda({"MPIR_CVAR_CH4_NETMOD": "ucx"})


def test_mapped_finds_the_libraries_of_this_process() -> None:
    assert all(os.path.exists(path) for path in gpu_aware.mapped("libc"))
    assert gpu_aware.mapped("libc")
    assert gpu_aware.mapped("libuct_cuda") == []


def test_the_first_sign_that_speaks_decides() -> None:
    assert awareness("auto", True, False, "crashed").by_query
    assert awareness("auto", False, True, "crashed").aware
    assert awareness("auto", None, False, "works").aware
    assert not awareness("auto", False, True, "works").by_query


def test_without_any_sign_the_answer_is_no_and_says_what_was_asked() -> None:
    verdict = awareness("auto", False, False, "crashed")
    assert not verdict.aware
    assert "it says: no" in verdict.why
    assert "crashed" in verdict.why


def test_the_user_has_the_last_word() -> None:
    assert awareness("yes", False, False, "crashed").aware
    assert not awareness("yes", False, False, "crashed").by_query
    assert awareness("yes", True, False, "not tried").by_query
    assert not awareness("no", True, True, "works").aware
