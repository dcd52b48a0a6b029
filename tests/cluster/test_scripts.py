"""What each script of `jobs/` is for, on a real Slurm."""

import json
import os
import re
import shutil
import subprocess
import sys

from standin.driver import environment
from submitting import JOBS, MPIRUN, ONE_NODE, QUICK, ROOT, SRUN, STRATEGIES, rows, script

FILES = {"rows.csv", "rows.json", "log.txt", "env.txt"}


def test_the_smoke_test_runs_from_a_clean_checkout_and_leaves_a_folder_with_all_results(desk):
    checkout = desk.folder / "check out"
    for folder in ("jobs", "dpbench"):
        shutil.copytree(ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (checkout / ".venv").symlink_to(sys.prefix)
    nothing = {"DPBENCH_VENV": "", "DPBENCH_JOBS": "", "RESULTS": "", "PYTHONPATH": str(checkout)}
    job = desk.run("jobs/smoke.sbatch", "--max-time", "0.1", cwd=checkout, **nothing)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    folder = checkout / "results" / f"dpbench-smoke-{job.number}"
    assert {path.name for path in folder.iterdir()} == FILES
    found = rows(folder)
    assert {(row["strategy"], row["bytes"]) for row in found} == {
        (strategy, str(size)) for strategy in STRATEGIES for size in (2**12, 2**20, 2**24)
    }
    assert {row["wrong_elements"] for row in found} == {"0"}
    assert json.loads((folder / "rows.json").read_text())["complete"] is True
    assert (folder / "log.txt").read_text() == job.output
    assert re.search("^MPI .*MPI", (folder / "env.txt").read_text(), re.MULTILINE)


def test_one_allocation_shows_how_the_strategies_scale(desk):
    values = {"SIZES": "4K", "PLACEMENT": "spread", **MPIRUN}
    job = desk.run("--nodes=2", "--ntasks-per-node=2", script("scaling"), "--iters", "2", "--warmup", "1", **values)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    assert re.search("^4 KiB, scaling +ranks", job.output, re.MULTILINE)
    assert "SLURM_" not in job.output  # mpirun's helpers are fewer than its ranks; that is no mismatch
    assert {(row["strategy"], row["ranks"]) for row in desk.rows(job)} == {
        (strategy, ranks) for strategy in STRATEGIES for ranks in ("2", "4")
    }


def test_gpus_are_measured_direct_and_staged(desk):
    gpus = environment(aware=True) | {"STANDIN_DEVICES": "2"}
    size = ("--gpus-per-node=2", *ONE_NODE)
    job = desk.run(*size, script("gpu_sweep"), *QUICK, SIZES="4K", **gpus, **MPIRUN)
    assert (job.state, job.code) == ("COMPLETED", 0), job.output
    found = {(row["device"], row["strategy"]): row for row in desk.rows(job)}
    assert set(found) == {(device, strategy) for device in ("cuda", "cuda-staged") for strategy in STRATEGIES}
    assert found["cuda", "ring"]["wrong_elements"] == found["cuda-staged", "ring"]["wrong_elements"] == "0"
    assert found["cuda", "ring"]["scope"] == "intra-node-gpu"


def test_the_gate_decides_the_exit_code_and_without_a_baseline_it_is_said_how_to_make_one(desk):
    size = (*ONE_NODE, script("regress"), "--iters", "8", "--warmup", "1", "--quiet")
    values = {"SIZES": "64K", "STRATEGIES": "ring", **SRUN}
    job = desk.run(*size, **values)
    assert (job.state, job.code) == ("FAILED", 3), job.output
    (remedy,) = re.findall("if this run is to be one: (cp .*); else set BASELINE$", job.output, re.MULTILINE)
    subprocess.run(["bash", "-c", remedy], cwd=desk.folder, check=True)
    text = (desk.folder / "baseline.csv").read_text()
    (desk.folder / "of yore.csv").write_text(multiplied(text, 1e-6))
    job = desk.run(*size, **values, BASELINE="of yore.csv")
    assert (job.state, job.code) == ("FAILED", 1), job.output
    assert "slower" in job.output


def test_a_baseline_that_cannot_be_read_is_told_before_anything_is_measured(desk):
    (desk.folder / "baseline.csv").write_text("schema,run_id\n2,1\n")
    job = desk.run(*ONE_NODE, script("regress"), SIZES="64K")
    assert (job.state, job.code) == ("FAILED", 3), job.output
    assert "dpbench: baseline.csv: lacks columns" in job.output
    assert not (desk.of(job.number) / "rows.csv").exists()


def test_a_folder_is_no_baseline_and_nothing_is_measured(desk):
    (desk.folder / "baseline.csv").mkdir()
    job = desk.run(*ONE_NODE, script("regress"), SIZES="64K")
    assert (job.state, job.code) == ("FAILED", 3), job.output
    assert "dpbench: baseline.csv: cannot be read" in job.output
    assert not (desk.of(job.number) / "rows.csv").exists()


def multiplied(text, factor):
    """Return the rows with all times multiplied."""
    header, *lines = [line.split(",") for line in text.splitlines()]
    times = [index for index, name in enumerate(header) if name.startswith("time_")]
    for line in lines:
        for index in times:
            line[index] = str(float(line[index]) * factor) if line[index] else ""
    return "".join(",".join(line) + "\n" for line in (header, *lines))


def test_without_slurm_the_sweep_runs_on_this_machine(tmp_path):
    (tmp_path / "jobs").symlink_to(JOBS)
    env = {"DPBENCH_VENV": sys.prefix, "PYTHONPATH": str(ROOT), "RANKS": "2", "SIZES": "8 4K"}
    env |= {name: os.environ[name] for name in ("HOME", "PATH")}

    def local(*options):
        command = ["bash", str(tmp_path / "jobs" / "local.sh"), *QUICK, *options]
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    job = local()
    assert job.returncode == 0, job.stdout + job.stderr
    (folder,) = (tmp_path / "results").glob("local-*")
    assert {path.name for path in folder.iterdir()} == FILES
    assert {(row["ranks"], row["bytes"]) for row in rows(folder)} == {("2", "8"), ("2", "4096")}
    assert (folder / "log.txt").read_text() in job.stdout
    assert local("--iters", "many").returncode == 2
