"""What a run loses where its disk is full or its reader leaves: nothing in silence."""

import os
import re
import sys
from pathlib import Path

import pytest
from launcher import Finished, run

from jobs import DPBENCH, program, rows_of

QUICK = ("--sizes", "8,64,4K", "-s", "ring,mpi", "-n", "3", "-w", "1")


def shell(line: str, *typed: str) -> Finished:
    """Run dpbench as `$@` in a line of bash, in one process unless it starts ranks."""
    return run(["bash", "-c", line, "bash", sys.executable, *DPBENCH, *typed], os.environ, timeout=60)


def test_a_disk_that_fills_up_is_told_at_once_and_the_tables_come_to_their_end(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    job = program(2, "rough", *QUICK, "--csv", str(path))
    assert job.returncode == 3
    said = re.findall("^dpbench: .*", job.stderr, re.MULTILINE)
    assert said == [
        f"dpbench: --csv {path}: cannot be written: No space left on device; the run goes on",
        f"dpbench: --csv {path}: cannot be written: No space left on device; not in the file: 64 B, 4 KiB",
    ]
    assert job.stdout.count("ring  ") == 3
    assert "elements with a wrong sum" in job.stdout
    assert "errno" not in job.stdout
    assert [(row["strategy"], row["bytes"]) for row in rows_of(path.read_text())] == [("ring", "8"), ("mpi", "8")]


def test_a_reader_that_leaves_new_ranks_costs_the_csv_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "out.csv")
    job = shell('"$@" | head -n 1; exit ${PIPESTATUS[0]}', "--ranks", "2", *QUICK, "--csv", path)
    assert (job.returncode, job.stderr) == (0, "")
    assert len(job.stdout.splitlines()) == 1
    assert len(rows_of(Path(path).read_text())) == 6


@pytest.mark.parametrize("csv", [[], ["--csv", "-"]])
def test_a_reader_that_leaves_all_that_there_is_ends_the_run(csv: list[str]) -> None:
    job = shell('"$@" | head -n 1; exit ${PIPESTATUS[0]}', "run", *QUICK, *csv)
    assert job.returncode == 128 + 13
    assert len(job.stdout.splitlines()) == 1
    assert "Traceback" not in job.stderr
    assert "dpbench:" not in job.stderr
    assert job.stderr.count("ring  ") == (3 if csv else 0)  # the tables are there for whoever sees them


def test_closed_streams_cost_the_csv_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    job = shell('"$@" <&- >&- 2>&-', "--ranks", "2", *QUICK, "--csv", str(path))
    assert (job.returncode, job.stderr) == (0, "")
    assert len(rows_of(path.read_text())) == 6


def test_a_wrong_result_is_not_hidden_by_a_full_disk_nor_that_by_it(tmp_path: Path) -> None:
    env = {"DPBENCH_TEST_HOOKS": "corrupt@0:ring:2,disk@0=2"}
    args = ("run", "-s", "ring", "--sizes", "4K,16K", "-n", "3", "-w", "1", "--csv", str(tmp_path / "out.csv"))
    job = run([sys.executable, *DPBENCH, *args], os.environ | env, timeout=60)
    assert job.returncode == 1
    assert "No space left on device; not in the file: 16 KiB" in job.stderr


def test_a_run_in_which_all_is_skipped_says_so() -> None:
    env = {"DPBENCH_TEST_HOOKS": "memory@0=1000"}
    args = ("run", "-s", "ring", "--sizes", "4K,16K", "-q", "--csv", "-")
    job = run([sys.executable, *DPBENCH, *args], os.environ | env, timeout=60)
    assert (job.returncode, [row["quality"] for row in rows_of(job.stdout)]) == (3, ["skipped"] * 2)
    assert job.stderr.endswith("dpbench: nothing was measured: every row was skipped, for the reason in the table\n")
