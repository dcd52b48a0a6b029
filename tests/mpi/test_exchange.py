"""Real ranks: every strategy leaves the exact sum on every worker, whatever the dtype, count, slices and cuts."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from jobs import program

RANKS = [1, 2, 3, 4, 5]
DTYPES = ["float16", "float32", "float64", "int32", "int64", "bfloat16"]
KIB, MIB = 2**10, 2**20


# Each library's least limit above which a send waits for its receive; the variables of the other do nothing.
LEAST_EAGER = {
    "OMPI_MCA_btl_sm_eager_limit": "128",
    "OMPI_MCA_btl_self_eager_limit": "128",
    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": "1024",
    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": "1",
    "UCX_RNDV_THRESH": "0",
}


def check(ranks: int, env: Mapping[str, str] | None = None, timeout: float = 120, **work: Any) -> None:
    """Run what `work` asks for (see programs/exchanges.py) and expect every sum to be right."""
    job = program(ranks, "exchanges", json.dumps(work), env=env, timeout=timeout)
    assert job.returncode == 0, job.stderr
    found = json.loads(job.stdout)
    assert found["wrong"] == []
    assert found["checked"] > 0
    assert set(found["skipped"]) <= {"mpi bfloat16", "mpi-out bfloat16"}  # MPI has no such type


@pytest.mark.parametrize("ranks", RANKS)
def test_every_dtype_and_count_gives_the_sum(ranks: int) -> None:
    dtypes = DTYPES if ranks < 4 else DTYPES[:2]  # how ranks exchange does not depend on what they exchange
    check(ranks, dtypes=dtypes, counts=[0, 1, ranks - 1, 4097], bytes=[MIB], slicings=[(1, 1), (5, 2)])


@pytest.mark.parametrize("ranks", RANKS)
def test_no_count_loses_its_tail_however_it_is_sliced(ranks: int) -> None:
    check(ranks, dtypes=["float32"], counts=[2, 3, 7, ranks, ranks + 1, 4095], slicings=[(1, 1), (2, 2), (5, 2)])


@pytest.mark.parametrize("ranks", RANKS)
def test_requests_made_anew_split_messages_and_small_buffers_give_the_sum(ranks: int) -> None:
    modes = ["requests made anew", "few persistent requests", "split messages", "small server buffer"]
    check(ranks, dtypes=["float32"], counts=[0, ranks - 1, 4097], bytes=[MIB], modes=modes)


def test_64_mib_give_the_sum() -> None:
    check(2, dtypes=["float32"], bytes=[64 * MIB], slicings=[(1, 1), (8, 2)])


def test_ten_thousand_exchanges_leave_no_request_no_memory_and_no_wrong_element() -> None:
    job = program(4, "soak", timeout=120)
    assert job.returncode == 0, job.stderr
    found = json.loads(job.stdout)
    assert [wrong for _, wrong in found] == [0] * 100
    assert {live for (_, live), _ in found} == {0}
    resident = [memory for (memory, _), _ in found]
    assert max(resident[50:]) - max(resident[20:50]) <= MIB  # the first rounds fill the library's pools


@pytest.mark.parametrize(("ranks", "nbytes"), [(3, [KIB, 4 * KIB, 64 * KIB, MIB]), (2, [16 * MIB])])
def test_no_send_needs_to_be_buffered(ranks: int, nbytes: list[int]) -> None:
    check(ranks, LEAST_EAGER, dtypes=["float32"], bytes=nbytes, slicings=[(1, 1), (5, 2)])
