"""What is found out about a machine, its GPUs and its variables, from files and libraries like the real ones."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpbench.devices.nvml import gpus
from dpbench.engine.machine import cpu_model, machine
from dpbench.environment import recorded
from dpbench.measure.surroundings import surroundings


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


NODE = {
    "proc/cpuinfo": "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.0GHz\n",
    "proc/meminfo": "MemTotal:  2048 kB\nMemAvailable:  1024 kB\n",
    "proc/self/cgroup": "0::/job/step\n",
    "sys/fs/cgroup/job/cpu.max": "150000 100000\n",
    "sys/fs/cgroup/job/cpu.stat": "nr_periods 9\nnr_throttled 4\n",
    "sys/fs/cgroup/job/step/cpu.max": "max 100000\n",
    "sys/fs/cgroup/job/memory.max": "1000\n",
    "sys/fs/cgroup/job/memory.current": "400\n",
    "sys/class/net/lo/operstate": "unknown\n",
    "sys/class/net/veth12/operstate": "up\n",
    "sys/class/net/eth0/operstate": "up\n",
    "sys/class/net/eth0/speed": "100000\n",
    "sys/class/net/eth1/operstate": "down\n",
    "sys/class/net/eth1/speed": "-1\n",
    "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
    "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
    "sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand\n",
    **{f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor": "powersave\n" for core in range(512)},
}


def test_a_nodes_files_tell_its_processor_limits_and_network(tmp_path: Path) -> None:
    found = machine(write(tmp_path, NODE))
    assert (found["cpu"]["model"], found["cpu"]["governors"]) == ("Some CPU @ 2.0GHz", ["powersave"])
    assert (found["cpu"]["quota_cores"], found["cpu"]["throttled_periods"]) == (1.5, 4)
    assert found["memory"] == {"total_bytes": 2**21, "available_bytes": 2**20, "left_in_group_bytes": 600}
    assert found["network"] == [
        {"device": "eth0", "state": "up", "speed_bit_per_s": 100 * 10**9},
        {"device": "eth1", "state": "down", "speed_bit_per_s": None},
        {
            "device": "mlx5_0:1",
            "state": "active",
            "speed_bit_per_s": 400 * 10**9,
            "link_layer": "InfiniBand",
        },
    ]


def test_the_quota_of_version_1_is_found_too(tmp_path: Path) -> None:
    files = {"cpu.cfs_quota_us": "250000\n", "cpu.cfs_period_us": "100000\n", "cpu.stat": "nr_throttled 7\n"}
    groups = {f"sys/fs/cgroup/cpu/job/{name}": text for name, text in files.items()}
    root = write(tmp_path, {"proc/self/cgroup": "3:cpu,cpuacct:/job\n", **groups})
    found = machine(root)["cpu"]
    assert (found["quota_cores"], found["throttled_periods"]) == (2.5, 7)


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd40\n", "ARM, maker 0x41 part 0xd40"),
        ("processor\t: 0\nHardware\t: x\nModel\t\t: Some Board\n", "Some Board"),
        ("processor : 0\ncpu : POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("", None),
        ("nonsense", None),
    ],
)
def test_processors_of_all_kinds_have_a_name_or_none(cpuinfo: str, model: str | None) -> None:
    assert cpu_model(cpuinfo) == model


@pytest.mark.parametrize(
    "damage", [{}, dict.fromkeys(NODE, ""), dict.fromkeys(NODE, "::\n\0 x"), {"proc/self/cgroup": "0::\nx\n3:cpu\n"}]
)
def test_a_system_that_tells_nothing_or_nonsense_is_no_error(
    damage: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")  # as macOS
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr(os, "confstr")
    found = surroundings(write(tmp_path, damage), {})
    assert found["cpu"]["model"] is found["cpu"]["quota_cores"] is found["cpu"]["load_1min"] is found["glibc"] is None
    assert found["memory"]["total_bytes"] is None
    assert found["transport"] == "unknown"
    json.dumps(found)


def test_only_variables_of_mpi_and_batch_systems_are_kept_and_no_secret() -> None:
    kept = {"OMPI_MCA_pml": "ucx", "SLURM_JOB_ID": "7", "UCX_TLS": "sm", "MALLOC_ARENA_MAX": "1"}
    kept |= {"PMI_RANK": "0", "FI_PROVIDER": "cxi", "MPICH_X": "1", "I_MPI_FABRICS": "shm", "OMP_NUM_THREADS": "1"}
    kept |= {"CUDA_VISIBLE_DEVICES": "2,3"}
    secrets = (
        *("SLURM_JWT", "SLURM_API_TOKEN", "UCX_Auth_X", "OMPI_MCA_sec_Credential", "PMIX_password", "MPICH_apikey"),
        *("CUDA_SECRET", "FI_PASSPHRASE", "SLURM_COOKIE", "SLURM_PRIVATE_X"),
    )
    others = dict.fromkeys(("HOME", "PATH", "USER", "AWS_ACCESS_KEY_ID", "X_SLURM_JOB_ID", "slurm_x"), "x")
    assert recorded({**kept, **dict.fromkeys(secrets, "s3cr3t"), **others}) == kept


def test_bytes_that_are_no_text_are_kept_escaped() -> None:
    assert recorded({"SLURM_JOB_NAME": os.fsdecode(b"a\xff")}) == {"SLURM_JOB_NAME": r"a\udcff"}


class Driver:
    """NVIDIA's library with two GPUs, the second of which is divided and tells little."""

    def __init__(self, *missing: str) -> None:
        for name in missing:
            setattr(self, name, None)

    def nvmlInit_v2(self) -> int:
        return 0

    nvmlShutdown = nvmlInit_v2

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, handle: Any) -> int:
        handle._obj.value = index + 1
        return 0

    def nvmlDeviceGetName(self, handle: Any, buffer: Any, length: ctypes.c_uint) -> int:
        buffer.value = f"GPU number {handle.value}".encode()
        return 0

    def nvmlDeviceGetUUID(self, handle: Any, buffer: Any, length: ctypes.c_uint) -> int:
        buffer.value = b"GPU-1"
        return 3 if handle.value == 2 else 0

    def nvmlSystemGetDriverVersion(self, buffer: Any, length: ctypes.c_uint) -> int:
        buffer.value = b"580.1"
        return 0

    def nvmlDeviceGetClockInfo(self, handle: Any, kind: int, clock: Any) -> int:
        clock._obj.value = 1980
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, bits: Any) -> int:
        bits._obj.value = 2**40
        return 0

    def nvmlDeviceGetMigMode(self, handle: Any, now: Any, pending: Any) -> int:
        now._obj.value = handle.value == 2
        return 0


def test_the_driver_tells_of_its_gpus() -> None:
    first, second = gpus(Driver())
    assert first == {
        "index": 0,
        "name": "GPU number 1",
        "uuid": "GPU-1",
        "driver": "580.1",
        "clock_MHz": 1980,
        "throttle_bits": 2**40,
        "mig": False,
    }
    assert (second["uuid"], second["mig"]) == (None, True)


def test_what_an_older_driver_lacks_is_not_known() -> None:
    first, _ = gpus(Driver("nvmlDeviceGetMigMode", "nvmlDeviceGetClockInfo"))
    assert (first["mig"], first["clock_MHz"], first["name"]) == (None, None, "GPU number 1")
    assert gpus(Driver("nvmlInit_v2")) == []


def test_facts_are_collected_without_a_process() -> None:
    code = (
        "import os, subprocess\n"
        "from dpbench.measure.surroundings import surroundings\n"
        "def never(*_, **__): raise SystemExit('a process was started')\n"
        "os.fork = os.posix_spawn = os.system = subprocess.Popen = os.forkpty = never\n"
        "surroundings()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
