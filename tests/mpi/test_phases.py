"""Phases on real ranks: those of one slice add up to each sample, and every row is followed by its phases."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from launcher import mpirun

from jobs import DPBENCH, Row, program, rows_of

ADDITIONS = ("aggregate", "additions")
PHASES = {
    "ps": ["push", "aggregate", "pull"],
    "sharded-ps": ["push", "aggregate", "pull"],
    "ring": ["reduce-scatter", "additions", "all-gather"],
}
OURS = ",".join(PHASES)


def samples_of(path: Path, ranks: int, *args: str) -> dict[str, Any]:
    """Return the samples of every case and its phases."""
    command = args if args[0] == "step" else ("--phases", *args)
    job = program(ranks, "phases", str(path / "samples.json"), *command)
    assert job.returncode == 0, job.stderr
    found: dict[str, Any] = json.loads((path / "samples.json").read_text())
    return found


def rows(ranks: int, *args: str) -> list[Row]:
    job = mpirun(ranks, *DPBENCH, "--phases", *args, "--csv", "-")
    assert job.returncode == 0, job.stderr
    return rows_of(job.stdout)


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_phases_of_each_sample_add_up_to_it(ranks: int, tmp_path: Path) -> None:
    found = samples_of(tmp_path, ranks, "-s", OURS, "--sizes", "1M", "--textbook", "-n", "30")
    for name, phases in PHASES.items():
        case = found[name]
        assert list(case["phases"]) == phases
        times = [case["phases"][phase] for phase in phases if phase not in ADDITIONS]
        sums = [sum(each) for each in zip(*times, strict=True)]
        assert len(sums) == len(case["samples"]) == 30
        assert sums == pytest.approx(case["samples"], rel=1e-6)
        within = case["phases"][phases[1]]
        assert all(0 <= part <= whole for part, whole in zip(within, times[0], strict=True))


def test_the_phases_of_a_step_add_up_to_each_sample_with_what_is_computed_before(tmp_path: Path) -> None:
    args = ("-s", "ps,ring,mpi", "--sizes", "4K", "--textbook", "-n", "30", "--compute", "20us", "--dedicated-servers")
    found = samples_of(tmp_path, 3, "step", *args)
    assert list(found["mpi"]["phases"]) == ["compute", "all-reduce", "update"]
    for case in found.values():
        times = [each for phase, each in case["phases"].items() if phase not in ADDITIONS]
        assert [sum(each) for each in zip(*times, strict=True)] == pytest.approx(case["samples"], rel=1e-6)


def test_every_rank_has_a_median_of_each_phase(tmp_path: Path) -> None:
    found = samples_of(tmp_path, 3, "-s", "ps,mpi", "--sizes", "4K", "-n", "6")
    assert {name: len(each) for name, each in found["ps"]["medians"].items()} == dict.fromkeys(PHASES["ps"], 3)
    assert all(each > 0 for each in [*found["ps"]["medians"]["push"], *found["ps"]["medians"]["pull"]])
    assert found["ps"]["medians"]["aggregate"][1:] == [0, 0]  # workers add nothing
    assert found["mpi"]["phases"] == {}


def test_each_row_is_followed_by_those_of_its_phases() -> None:
    found = rows(4, "-s", OURS, "--sizes", "4K,64K", "-n", "6", "--textbook")
    expected = [(name, operation) for name in PHASES for operation in ["allreduce", *PHASES[name]]]
    assert [(row["strategy"], row["operation"]) for row in found] == 2 * expected
    for row in found:
        if row["operation"] in (*ADDITIONS, "allreduce"):
            continue
        seconds, size = float(row["time_median_s"]), int(row["bytes"])
        assert math.isclose(float(row["algbw_GB_per_s"]), size / seconds / 1e9, rel_tol=1e-9)
        assert (row["busbw_GB_per_s"], row["iterations"], row["wrong_elements"]) == ("", "6", "0")
        busiest = 3 * size if row["strategy"] == "ps" else 3 * size // 4
        assert (int(row["total_bytes"]), int(row["busiest_rank_bytes"])) == (3 * size, busiest)
        assert row["busiest_rank"] == "0" or row["strategy"] != "ps"


def test_without_the_option_there_are_no_rows_of_phases() -> None:
    job = mpirun(2, *DPBENCH, "--sizes", "4K", "-n", "6", "--csv", "-")
    assert {row["operation"] for row in rows_of(job.stdout)} == {"allreduce"}
    assert "over ranks" not in job.stderr


def test_the_tables_tell_of_phases_ports_and_overlaps() -> None:
    slicing = ("--slices", "4", "--window", "2")
    job = mpirun(4, *DPBENCH, "--phases", "-s", OURS, "--sizes", "64K", "-n", "6", *slicing)
    assert job.returncode == 0, job.stderr
    assert re.search(r"^ring\n  reduce-scatter .*\n    additions .*\n  all-gather ",
                     job.stdout, re.MULTILINE)  # fmt: skip
    assert "ps, sharded-ps, ring: several slices, so phases overlap" in job.stdout
    assert re.findall(r"^(\S+) +6\.00 S +(\d\.\d\d) S +\d +1\.50 S +(\d\.\d\d)$", job.stdout, re.MULTILINE) == [
        ("ps", "3.00", "2.00"),
        ("sharded-ps", "1.50", "1.00"),
        ("ring", "1.50", "1.00"),
    ]
    assert max(map(len, job.stdout.split("64 KiB", 1)[1].split("W", 1)[0].splitlines())) <= 80


def test_one_rank_has_phases_that_send_nothing() -> None:
    found = rows(1, "--sizes", "4K", "-n", "6")
    sending = [row for row in found if row["strategy"] != "mpi"]
    assert {row["total_bytes"] for row in sending} == {"0"}
    assert [row["operation"] for row in sending if row["strategy"] == "ring"] == ["allreduce", "reduce-scatter"]
    assert {row["algbw_GB_per_s"] for row in found} == {""}


def test_dedicated_servers_and_nothing_to_send_have_phases_too() -> None:
    found = rows(3, "-s", "ps,sharded-ps", "--dedicated-servers", "--sizes", "0,4,4K", "-n", "6")
    pushes = [row for row in found if (row["strategy"], row["operation"]) == ("ps", "push")]
    assert [int(row["busiest_rank_bytes"]) for row in pushes] == [0, 8, 8192]


def test_a_wrong_sum_is_found_and_its_phases_have_no_times(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    args = ("--phases", "--sizes", "4K", "-n", "3", "-w", "1", "--csv", str(path))
    job = program(3, "recorded", str(tmp_path), "wrong", "ring", *args)
    assert job.returncode == 1
    found = {(row["strategy"], row["operation"]): row for row in rows_of(path.read_text())}
    for operation in ["allreduce", *PHASES["ring"]]:
        row = found["ring", operation]
        assert (row["quality"], row["time_median_s"], row["algbw_GB_per_s"]) == ("invalid", "", "")
    assert found["ring", "all-gather"]["total_bytes"] == "8192"
    assert found["ps", "push"]["quality"] in ("ok", "warn")
    assert "  all-gather" not in job.stdout
