"""Streams that take no more, or not at once."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

LATE = "from dpbench.cli.streams import outlive_readers; import os; outlive_readers(); os.write(1, bytes(2**20))"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_messages_that_find_no_room_leave_the_exit_code_as_it_is() -> None:
    with open("/dev/full", "w") as full:
        job = subprocess.run([sys.executable, "-m", "dpbench", "run", "--sizes", "banana"], stderr=full, check=False)
    assert job.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("command", [["list"], ["--help"], ["show", "ring"], ["env", "--json"]])
def test_a_stdout_without_room_is_named(command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "dpbench", *command]
        job = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (job.returncode, job.stderr) == (3, "dpbench: stdout cannot be written: No space left on device\n")


def test_messages_that_nobody_reads_leave_the_exit_code_as_it_is() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    job = subprocess.run([sys.executable, "-m", "dpbench", "run", "--sizes", "banana"], stderr=writer, check=False)
    os.close(writer)
    assert job.returncode == 2


def test_a_slow_reader_of_a_pipe_that_does_not_wait_gets_everything() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen([sys.executable, "-c", LATE], stdout=writer):
        os.close(writer)
        time.sleep(0.5)
        got = 0
        while data := os.read(reader, 2**16):
            got += len(data)
    os.close(reader)
    assert got == 2**20


def test_what_a_library_prints_does_not_come_between_the_rows() -> None:
    library = "os.write(1, b'a log'); print('a row', flush=True)"
    words = [sys.executable, "-c", f"from dpbench.cli.streams import keep_stdout; import os; keep_stdout(); {library}"]
    job = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (job.returncode, job.stdout, job.stderr) == (0, "a row\n", "a log")


@pytest.mark.parametrize("option", ["--csv", "--json"])
def test_a_closed_stdout_is_told_before_ranks_are_started(option: str) -> None:
    words = [sys.executable, "-m", "dpbench", "--ranks", "2", "--sizes", "8", option, "-"]
    job = subprocess.run(["bash", "-c", '"$@" >&-', "bash", *words], stderr=subprocess.PIPE, text=True, check=False)
    assert (job.returncode, job.stderr) == (3, f"dpbench: {option} -: stdout is closed; name a file instead\n")
