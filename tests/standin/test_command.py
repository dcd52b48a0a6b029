"""`dpbench --device …` as a user types it, on the stand-in driver and real MPI libraries."""

import csv
import io
import json
import os
import re
import sys

import pytest
from launcher import Finished, launcher, mpirun, run
from standin.driver import environment

from dpbench.engine.library import bound_library

QUICK = ("-m", "dpbench", "run", "--sizes", "4K", "-n", "2", "-w", "0")


def dpbench(ranks: int, *options: str, aware: bool = True, **variables: str) -> Finished:
    return mpirun(ranks, *QUICK, *options, env=environment(aware) | variables, timeout=60)


def rows(job: Finished) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(job.stdout)))


def test_a_list_of_devices_gives_rows_of_each_and_none_is_wrong() -> None:
    job = dpbench(2, "--device", "cpu,gpu,cuda-staged", "--csv", "-")
    assert job.returncode == 0, job.stderr
    found = {(row["device"], row["strategy"]): row for row in rows(job)}
    assert len(found) == 12
    assert all(row["wrong_elements"] == "0" for (_, name), row in found.items() if name != "mpi")
    assert "its collectives take GPU memory" in found["cuda", "mpi"]["reason"]
    assert found["cuda-staged", "mpi"]["wrong_elements"] == "0"


def test_what_a_crash_would_mean_is_said_before_the_first_message_from_gpu_memory() -> None:
    assert "GPU memory is handed to the MPI library now: if it crashes here" in dpbench(2, "--device", "cuda").stderr
    assert "is handed to the MPI library" not in dpbench(2, "--device", "cuda-staged").stderr


@pytest.mark.parametrize("visible", [1, 2])
def test_ranks_take_the_visible_gpus_in_turn_and_those_that_share_one_are_named(visible: int) -> None:
    job = dpbench(4, "--device", "cuda-staged", "-s", "ring", STANDIN_DEVICES=str(visible))
    assert job.returncode == 0, job.stderr
    sharing = re.findall(r"^note +ranks ([\d, ]+) share GPU (\S+)", job.stdout, re.MULTILINE)
    expected = {1: [("0, 1, 2, 3", "0000:40:00.0")], 2: [("0, 2", "0000:40:00.0"), ("1, 3", "0000:41:00.0")]}
    assert sharing == expected[visible]
    assert "W04 in 1 row: ring 4 KiB\n          ranks 0, " in job.stdout


def test_ranks_that_share_a_gpu_have_a_scope_of_their_own() -> None:
    job = dpbench(2, "--device", "cuda-staged", "-s", "ring", "--csv", "-")
    assert [(row["scope"], "W04" in row["warnings"].split()) for row in rows(job)] == [("shared-gpu", True)]


def test_the_document_tells_which_gpu_each_rank_has() -> None:
    job = dpbench(2, "--device", "cuda-staged", "-s", "ring", "--json", "-", aware=False, STANDIN_DEVICES="2")
    ranks = json.loads(job.stdout)["environment"]["ranks"]
    assert [rank["gpu"].split()[0] for rank in ranks] == ["0000:40:00.0", "0000:41:00.0"]


def test_env_tells_that_a_gpu_can_be_used_and_what_became_of_the_trial() -> None:
    job = run([sys.executable, "-m", "dpbench", "env"], os.environ | environment(aware=False), timeout=60)
    assert job.returncode == 0, job.stderr
    assert re.search("^cuda +usable; MPI with GPU memory, a trial: (crashed|failed)$", job.stdout, re.MULTILINE)


def test_phases_on_a_gpu_have_times_but_their_additions_which_are_only_begun_have_none() -> None:
    job = dpbench(2, "--device", "cuda-staged", "-s", "ring", "--phases", "--csv", "-", aware=False)
    found = {row["operation"]: row for row in rows(job)}
    assert list(found) == ["allreduce", "reduce-scatter", "additions", "all-gather"]
    assert [bool(row["time_median_s"]) for row in found.values()] == [True, True, False, True]
    assert {row["wrong_elements"] for row in found.values()} == {"0"}


def test_a_library_that_knows_no_gpu_is_refused_and_never_crashes() -> None:
    job = dpbench(2, "--device", "cuda", aware=False)
    assert job.returncode == 3
    assert re.search(r"--device cuda: .* is not known to take GPU memory .*: use --device cuda-staged", job.stderr)
    assert "Segmentation" not in job.stderr


def test_auto_takes_the_gpu_only_where_the_library_does() -> None:
    assert "gradient  float32 on cuda," in dpbench(2, "--device", "auto").stdout
    unaware = dpbench(2, "--device", "auto", aware=False)
    assert "gradient  float32 on cpu," in unaware.stdout
    assert "--device auto is cpu: " in unaware.stdout
    assert "W16 in 4 rows: " in unaware.stdout


ASYNC_POOL = """
import cupy
def stream_ordered(size):
    raise AssertionError("memory that CUDA IPC cannot export")
cupy.cuda.set_allocator(stream_ordered)
from dpbench.devices.cuda import CudaDevice
print(len(CudaDevice(0).empty(8, "float32")))
"""


def test_gradients_never_live_in_another_allocators_memory() -> None:
    _, environ = launcher()
    job = run([sys.executable, "-c", ASYNC_POOL], environ | environment(aware=False), timeout=60)
    assert (job.returncode, job.stdout) == (0, "8\n"), job.stderr


TRIAL = "from dpbench.engine.gpu_aware import trial; print(trial())"


@pytest.mark.parametrize("aware", [True, False])
def test_the_trial_of_a_real_library_works_only_where_it_takes_device_pointers(aware: bool) -> None:
    _, environ = launcher()
    job = run([sys.executable, "-c", TRIAL], environ | environment(aware), timeout=60)
    # MPICH copies a message to oneself on the host, whatever carries the others: there the UCX sign decides.
    works = aware and bound_library().is_open_mpi
    assert job.stdout == ("works\n" if works else "crashed\n"), job.stderr


def test_the_trial_fails_where_no_gpu_is_visible() -> None:
    _, environ = launcher()
    job = run([sys.executable, "-c", TRIAL], environ | environment(True) | {"CUDA_VISIBLE_DEVICES": ""}, timeout=60)
    assert job.stdout == "failed\n", job.stderr
