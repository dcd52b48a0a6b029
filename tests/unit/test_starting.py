"""Until MPI runs: who waits for a rank that never comes is ended, and a launcher is asked to end the others."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpbench import cli, environment
from dpbench.cli import _without_library
from dpbench.engine import starting
from dpbench.errors import NoLibrary

# As MPI_Init does, the call keeps Python from running anything else.
WAITS = """
import ctypes, sys
from dpbench.engine import starting
starting.PATIENCE_S = 0.3
with starting.in_time(float(sys.argv[1])):
    ctypes.PyDLL(None).usleep(int(1e6 * float(sys.argv[2])))
print("started")
"""


def waiting(timeout: float, seconds: float, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WAITS, str(timeout), str(seconds)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | env, timeout=20)


def test_a_rank_that_waits_too_long_for_mpi_is_ended_with_a_sentence() -> None:
    found = waiting(0.2, 15, OMPI_COMM_WORLD_RANK="3", OMPI_COMM_WORLD_SIZE="4")
    assert found.returncode == -signal.SIGKILL
    assert found.stderr.startswith("dpbench: rank 3 on ")
    assert ": MPI has not started within 0 s: another rank may have failed before, or the launcher" in found.stderr


@pytest.mark.parametrize(("timeout", "seconds"), [(0.2, 0.1), (9, 0.6), (0, 0.6)])
def test_a_rank_that_starts_in_time_or_may_wait_is_left_alone(timeout: float, seconds: float) -> None:
    found = waiting(timeout, seconds)
    assert (found.returncode, found.stdout, found.stderr) == (0, "started\n", "")


@pytest.fixture
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "ANSWER_S", 0.05)
    monkeypatch.setattr(starting, "KILLED_S", 0)
    monkeypatch.setattr(cli, "HEAD_START_S", 0)


@pytest.mark.parametrize("met", [False, True])
def test_a_launcher_that_speaks_pmi_is_asked_to_end_all_ranks(
    met: bool, no_wait: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher, rank = socket.socketpair()
    with launcher, rank:
        monkeypatch.setenv("PMI_FD", str(rank.fileno()))
        starting.end_waiting(3, met=met)
        greeting = b"" if met else b"cmd=init pmi_version=1 pmi_subversion=1\n"
        assert launcher.recv(1000) == greeting + b"cmd=abort exitcode=3\n"


def test_a_file_that_took_the_launchers_place_gets_nothing(
    tmp_path: Path, no_wait: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(tmp_path / "file", "wb") as file:
        monkeypatch.setenv("PMI_FD", str(file.fileno()))
        starting.end_waiting(3)
    assert (tmp_path / "file").read_bytes() == b""


@pytest.mark.parametrize(
    ("told", "speaks"),
    [
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, True),
        ({"PALS_RANKID": "1", "PALS_SIZE": "2", "PALS_LOCAL_RANKID": "1"}, False),  # it need not end the others
        ({"PALS_RANKID": "1", "PALS_SIZE": "2", "PALS_LOCAL_RANKID": "0"}, True),
        ({"PALS_RANKID": "0", "PALS_SIZE": "2", "PALS_LOCAL_RANKID": "0"}, True),
    ],
)
def test_of_ranks_that_cannot_load_mpi_those_speak_whom_nobody_ended_before(
    told: dict[str, str], speaks: bool, no_wait: None, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [name for name in os.environ if name.startswith(environment.RECORDED)]:
        monkeypatch.delenv(name)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert _without_library(NoLibrary("no libmpi")) == 3
    rank = next(iter(told.values()))
    assert capsys.readouterr().err == (f"dpbench: {starting.place()}: no libmpi\n" if speaks else "")
    assert starting.place().startswith(f"rank {rank} on ")


def test_the_process_that_looks_at_the_clock_is_gone_when_mpi_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, children = os.fork, []

    def noted() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", noted)
    with starting.in_time(None):
        os.kill(children[0], 0)
    with pytest.raises(ProcessLookupError):
        os.kill(children[0], 0)
