"""The script for a real GPU, from end to end on the stand-in; and what its report makes of bad results."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from launcher import Finished, launcher, run
from standin.driver import AWARE, ROOT, cuda_ucx, environment

from dpbench.dtypes import DTYPES
from dpbench.engine.library import bound_library
from dpbench.measure.options import Options

GPU = ROOT / "tests" / "gpu"
SIZES = (4, 64 * 1024)
TYPE_SIZE = 4096


def script(out: Path, **variables: str) -> Finished:
    """Run the script on 2 ranks with what this Python has."""
    _, environ = launcher()
    part = {
        "OUT": str(out),
        "GPU_PYTHON": sys.executable,
        "GPU_MPIS": "openmpi" if bound_library().is_open_mpi else "mpich",
        "GPU_RANKS": "2",
        "GPU_SIZES": ",".join(map(str, SIZES)),
        "GPU_TYPE_SIZE": str(TYPE_SIZE),
        "GPU_TIME": "0.01",
        "GPU_LIMIT": "100",
        "GPU_UCX": str(cuda_ucx()),
    }
    return run([str(GPU / "run.sh")], environ | environment(aware=False) | part | variables, timeout=240)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_the_script_measures_everything_without_and_with_cuda_ipc(tmp_path: Path) -> None:
    job = script(tmp_path)
    assert job.returncode == 0, job.stdout + (tmp_path / "log.txt").read_text()
    assert [line["exit_code"] for line in rows(tmp_path / "jobs.csv")] == ["0"] * 4
    cases = [(size, "float32") for size in SIZES] + [(TYPE_SIZE, dtype) for dtype in DTYPES]
    devices, names = ("cuda", "cuda-staged"), Options.strategies
    expected = {(*case, device, name) for case in cases for device in devices for name in names}
    tables = sorted(tmp_path.glob("*-*.csv"))
    assert [path.stem.partition("-")[2] for path in tables] == ["cuda_copy", "cuda_ipc"]
    for table in map(rows, tables):
        assert {(int(row["bytes"]), row["dtype"], row["device"], row["strategy"]) for row in table} == expected
        assert {row["strategy"] for row in table if row["quality"] == "skipped"} == {"mpi"}
    report = (tmp_path / "report.txt").read_text()
    assert report.startswith("GPU 0: Stand-in GPU 0, ")
    assert "0 wrong" in report.splitlines()[-1]


def test_jobs_that_fail_stop_no_other_and_are_reported(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    job = script(tmp_path / "out", GPU_UCX=str(tmp_path / "nothing"), GPU_TRANSPORTS="cuda_copy")
    assert job.returncode == 1
    crashed, refused = (line["exit_code"] for line in rows(tmp_path / "out" / "jobs.csv"))
    assert int(crashed) > 3
    assert refused == "3"
    assert f"types failed, {crashed}" in job.stdout
    assert "2 of 2 jobs failed" in job.stdout


def test_no_job_is_begun_when_the_time_is_used_up(tmp_path: Path) -> None:
    job = script(tmp_path, GPU_BUDGET="0", GPU_TRANSPORTS="cuda_copy")
    assert job.returncode == 1
    assert "types not run 0 s, sweep not run 0 s" in job.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "1 ok, 0 wrong"),
        ({"quality": "invalid", "algbw_GB_per_s": ""}, "0 ok, 1 wrong"),
        ({"mpi_library": "MPICH 5.0.2"}, "1 rows are not of the MPI library"),
    ],
)
def test_the_report_ends_well_only_if_every_row_is_right(
    tmp_path: Path, change: dict[str, str], said: str
) -> None:
    row = {
        "mpi_library": "Open MPI 5.0.11",
        "scope": "shared-gpu",
        "ranks": "2",
        "device": "cuda",
        "dtype": "float32",
        "bytes": "4",
        "strategy": "ring",
        "algbw_GB_per_s": "1.0",
        "quality": "ok",
        "reason": "",
    } | change
    (tmp_path / "jobs.csv").write_text(
        "mpi,transport,ranks,part,exit_code,seconds\nopenmpi,cuda_ipc,2,sweep,0,7\n", encoding="utf-8"
    )
    with (tmp_path / "openmpi-cuda_ipc.csv").open("w", newline="", encoding="utf-8") as lines:
        table = csv.DictWriter(lines, row)
        table.writeheader()
        table.writerow(row)
    command = [sys.executable, str(GPU / "report.py"), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said in answer.stdout, answer.stderr
    assert answer.returncode == (1 if change else 0)


@pytest.mark.parametrize("file", [ROOT / "README.md", GPU / "run.sh"], ids=lambda path: path.name)
def test_what_is_told_and_run_is_what_the_stand_in_has_shown_to_work(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert [name for name, value in AWARE.items() if f"{name}={value}" not in text] == []


def test_shellcheck_finds_nothing() -> None:
    assert shutil.which("shellcheck"), "shellcheck is not installed: apt install shellcheck"
    command = ["shellcheck", *map(str, sorted(GPU.glob("*.sh")))]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.stdout + answer.stderr == ""
