"""A run as its user sees it: tables, CSV, exit codes, and what happens when something goes wrong."""

import json
import math
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from launcher import Finished, mpirun, run

from dpbench.results.record import COLUMNS
from jobs import DPBENCH, Row, program, rows_of

STRATEGIES = ["ps", "sharded-ps", "ring", "mpi"]
QUICK = ("-n", "3", "-w", "1")
GOLDEN_COLUMNS = """
    schema run_id started_at finished_at dpbench_version command mpi_library thread_level strategy operation
    ranks workers nodes scope device dtype bytes count dedicated servers slices_requested slices window cadence
    warmup iterations stop_reason seed time_median_s time_ci_low_s time_ci_high_s time_min_s time_p25_s
    time_p75_s time_p95_s time_max_s algbw_GB_per_s busbw_GB_per_s total_bytes busiest_rank busiest_rank_bytes
    busiest_node_bytes limit_s limit_fraction wrong_elements quality warnings reason
    start_skew_s span_s
"""


class Recorded(NamedTuple):
    """A watched run: how it ended, its rows, and what each rank recorded."""

    job: Finished
    rows: list[Row]
    ranks: list[dict[str, Any]]


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Recorded]:
    """Return a function that runs programs/recorded.py; its rows come from a file unless `csv` says otherwise."""

    def start(ranks: int, *args: str, fault: str = "none", strategy: str = "ring", csv: str | None = None) -> Recorded:
        path = csv or str(tmp_path / "rows.csv")
        args = (str(tmp_path), fault, strategy, *args, "--csv", path, "--force")
        job = program(ranks, "recorded", *args)
        records = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(ranks)]
        return Recorded(job, rows_of(Path(path).read_text()) if Path(path).is_file() else [], records)

    return start


def dpbench(ranks: int, *args: str, **env: str) -> Finished:
    return mpirun(ranks, *DPBENCH, *args, env=env)


def messages(job: Finished) -> list[str]:
    return re.findall("^dpbench: .*", job.stderr, re.MULTILINE)


def seconds(row: Row, column: str = "time_median_s") -> float:
    return float(row[column])


def test_the_columns_are_those_of_schema_2() -> None:
    assert tuple(GOLDEN_COLUMNS.split()) == COLUMNS


def test_every_case_has_a_right_row_with_consistent_rates() -> None:
    job = dpbench(3, "--sizes", "0,8,4K,100000", *QUICK, "--csv", "-")
    assert job.returncode == 0, job.stderr
    rows = rows_of(job.stdout)
    assert [(row["strategy"], int(row["bytes"])) for row in rows] == [
        (name, size) for size in (0, 8, 4096, 100_000) for name in STRATEGIES
    ]
    for row in rows:
        assert row["ranks"] == row["workers"] == "3"
        assert (row["iterations"], row["warmup"], row["stop_reason"]) == ("3", "1", "iters")
        assert (row["wrong_elements"], row["dtype"], int(row["count"])) == ("0", "float32", int(row["bytes"]) // 4)
        assert row["quality"] in ("ok", "warn")
        assert not {"nan", "inf"} & {value.lower() for value in row.values()}
        if row["bytes"] == "0":
            assert row["algbw_GB_per_s"] == row["busbw_GB_per_s"] == ""
            continue
        algbw = int(row["bytes"]) / seconds(row) / 1e9
        assert math.isclose(float(row["algbw_GB_per_s"]), algbw, rel_tol=1e-9)
        assert math.isclose(float(row["busbw_GB_per_s"]), algbw * 2 * (3 - 1) / 3, rel_tol=1e-9)


def test_the_bytes_of_the_busiest_rank_tell_the_strategies_apart() -> None:
    rows = rows_of(dpbench(4, "--sizes", "4K", *QUICK, "--csv", "-").stdout)
    assert [row["busiest_rank_bytes"] for row in rows] == ["12288", "6144", "6144", ""]
    assert [row["total_bytes"] for row in rows] == [*["24576"] * 3, ""]


def test_the_csv_is_whole_on_stdout_while_the_table_is_on_stderr() -> None:
    job = dpbench(2, "--sizes", "8,64", *QUICK, "--csv", "-")
    assert len(rows_of(job.stdout)) == 8
    assert "fastest" not in job.stdout
    assert job.stderr.count("sharded-ps") >= 2


def test_files_get_no_escapes_and_as_many_lines_however_many_iterations() -> None:
    narrow = {"LC_ALL": "de_DE.UTF-8", "TERM": "dumb", "COLUMNS": "40"}
    jobs = [dpbench(2, "--sizes", "8,64", "-n", n, "-w", "1", **narrow) for n in ("3", "300")]
    for job in jobs:
        lines = [line for line in job.stdout.splitlines() if line.startswith("ring ")]
        assert all(re.fullmatch(r"ring +1 × 1 +[\d.]+ [µm]s +(n/a|[\d.]+%)( +[\de.-]+){2} +[\d.]+ S +0 +[\d.]+", line)
                   for line in lines)  # fmt: skip
        assert job.returncode == 0
        assert not re.search("[\x1b\r]", job.stdout + job.stderr)
        assert job.stderr == ""
    few, many = (strip_warnings(job.stdout) for job in jobs)
    assert len(few) == len(many)


def strip_warnings(text: str) -> list[str]:
    """Return the lines but those of warnings: fewer than 6 samples have one of their own."""
    return [line for line in text.splitlines() if not re.match(r"W\d\d |\s+\S", line) and line]


def test_the_report_is_ascii_in_a_locale_that_knows_no_better() -> None:
    job = dpbench(2, "--sizes", "8", *QUICK, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert job.returncode == 0, job.stderr
    assert job.stdout.isascii()
    assert "fastest" in job.stdout


def test_letters_of_nccl_tests_under_a_launcher_are_a_run() -> None:
    job = dpbench(2, "-b", "8", "-e", "64", "-n", "3")
    assert job.returncode == 0, job.stderr
    assert [line.split()[:2] for line in job.stdout.splitlines() if " slices " in line] == [["8", "B"], ["32", "B"]]


def test_more_ranks_than_cores_can_be_started_without_mpirun() -> None:
    job = run([sys.executable, *DPBENCH, "--ranks", "3", "--sizes", "64", *QUICK, "--csv", "-"], os.environ, 60)
    assert job.returncode == 0, job.stderr
    assert {row["ranks"] for row in rows_of(job.stdout)} == {"3"}


@pytest.mark.parametrize("started", ["alone", "mpirun"])
def test_one_rank_has_times_but_no_rates(started: str) -> None:
    args = ["--sizes", "4K", *QUICK, "--csv", "-"]
    job = run([sys.executable, *DPBENCH, *args], os.environ, 60) if started == "alone" else dpbench(1, *args)
    assert job.returncode == 0, job.stderr
    for row in rows_of(job.stdout):
        assert seconds(row) > 0
        assert row["algbw_GB_per_s"] == row["busbw_GB_per_s"] == ""
        assert row["wrong_elements"] == "0"
    assert "n/a" in job.stderr
    assert "One rank sends nothing" in job.stderr


@pytest.mark.parametrize(
    ("ranks", "typed", "words"),
    [
        (2, "--servers 3", "--servers 3.*at most 2"),
        (2, "--servers 2 --dedicated-servers", "--servers 2.*at most 1"),
        (1, "--dedicated-servers", "--dedicated-servers needs at least 2 ranks"),
    ],
)
def test_servers_that_cannot_be_give_one_message(ranks: int, typed: str, words: str) -> None:
    job = dpbench(ranks, "--sizes", "8", *typed.split())
    assert job.returncode == 2
    assert len(messages(job)) == 1, job.stderr
    assert re.search(words, messages(job)[0])
    assert "Traceback" not in job.stderr
    assert job.stdout == ""


def test_dedicated_servers_do_not_work() -> None:
    job = dpbench(3, "-s", "ps,sharded-ps,ring", "--dedicated-servers", "--sizes", "4K", *QUICK, "--csv", "-")
    rows = {row["strategy"]: row for row in rows_of(job.stdout)}
    assert [rows[name]["workers"] for name in ("ps", "sharded-ps", "ring")] == ["2", "2", "3"]
    assert rows["ps"]["dedicated"] == "1"
    assert rows["ps"]["busiest_rank_bytes"] == "8192"
    assert {row["wrong_elements"] for row in rows.values()} == {"0"}


def test_all_ranks_exchange_equally_often_beside_a_slow_one(recorded: Callable[..., Recorded]) -> None:
    done = recorded(3, "--sizes", "8,64,4K", "--max-time", "0.3", fault="slow")
    assert done.job.returncode == 0, done.job.stderr
    assert [rank["code"] for rank in done.ranks] == [0, 0, 0]
    assert done.ranks[0]["exchanges"] == done.ranks[1]["exchanges"] == done.ranks[2]["exchanges"]
    assert [rank["order"] for rank in done.ranks] == [done.ranks[0]["order"]] * 3
    for name in STRATEGIES:
        counts = [(int(row["warmup"]), int(row["iterations"])) for row in done.rows if row["strategy"] == name]
        assert sum(map(sum, counts)) + len(counts) == done.ranks[0]["exchanges"][name]  # one more verifies


def test_exactly_the_iterations_asked_for(recorded: Callable[..., Recorded]) -> None:
    done = recorded(2, "--sizes", "64", "-n", "37", "-w", "5")
    assert {row["iterations"] for row in done.rows} == {"37"}
    assert {row["warmup"] for row in done.rows} == {"5"}
    assert done.ranks[1]["exchanges"] == dict.fromkeys(STRATEGIES, 1 + 5 + 37)


def test_the_seed_gives_the_order(recorded: Callable[..., Recorded]) -> None:
    orders = [recorded(2, "--sizes", "64", "-n", "60", "--seed", seed).ranks[0]["order"] for seed in "771"]
    assert orders[0] == orders[1] != orders[2]


def test_the_time_is_the_slowest_ranks(recorded: Callable[..., Recorded]) -> None:
    rows = {row["strategy"]: row for row in recorded(3, "--sizes", "64", *QUICK, fault="late").rows}
    assert seconds(rows["ring"], "time_min_s") >= 0.05
    assert seconds(rows["ring"], "time_max_s") >= seconds(rows["ring"]) >= seconds(rows["ring"], "time_min_s")
    assert seconds(rows["ps"]) < 0.05


@pytest.mark.parametrize("fault", ["wrong", "nan", "inf"])
def test_a_wrong_sum_on_the_last_rank_voids_its_row_only(fault: str, recorded: Callable[..., Recorded]) -> None:
    done = recorded(3, "--sizes", "4K", *QUICK, fault=fault)
    assert done.job.returncode == 1
    assert [rank["code"] for rank in done.ranks] == [1, 1, 1]
    rows = {row["strategy"]: row for row in done.rows}
    assert list(rows) == STRATEGIES
    wrong = rows.pop("ring")
    assert (wrong["quality"], wrong["wrong_elements"]) == ("invalid", "1")
    assert {value for column, value in wrong.items() if re.match("time_|.*_GB_per_s", column)} == {""}
    assert all(row["quality"] in ("ok", "warn") and seconds(row) > 0 for row in rows.values())
    table = done.job.stdout.partition("fastest\n")[2].partition("\n\n")[0]
    lines = {line.split()[0]: line.split() for line in table.splitlines()}
    assert "WRONG" in lines["ring"]
    assert lines["ring"][-1] == "n/a"
    assert min(float(lines[name][-1]) for name in rows) == 1


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing/rows.csv", "--csv .*missing/rows.csv"),
        (".", "--csv .*is a folder"),
        ("/dev/full", "--csv /dev/full: cannot be written: No space left on device"),
    ],
)
def test_a_csv_that_cannot_be_written_ends_the_run_before_it_begins(
    path: str, words: str, recorded: Callable[..., Recorded], tmp_path: Path
) -> None:
    done = recorded(2, "--sizes", "8", csv=str(tmp_path / path))
    assert done.job.returncode == 3
    assert [(rank["code"], rank["exchanges"]) for rank in done.ranks] == [(3, {}), (3, {})]
    assert len(messages(done.job)) == 1, done.job.stderr
    assert re.search(words, messages(done.job)[0])
    assert done.job.stdout == ""


def test_rank_0_alone_opens_the_csv(recorded: Callable[..., Recorded]) -> None:
    done = recorded(3, "--sizes", "8", *QUICK)
    assert [rank["opened"] for rank in done.ranks] == [1, 0, 0]


def test_rows_of_ranks_that_share_a_core_say_so(recorded: Callable[..., Recorded]) -> None:
    done = recorded(2, "--sizes", "64", *QUICK, fault="crowded")
    assert all("W03" in row["warnings"].split() and row["quality"] == "warn" for row in done.rows)
    assert "W03 in 4 rows" in done.job.stdout


def test_a_size_for_which_one_rank_has_no_memory_is_skipped_by_all(recorded: Callable[..., Recorded]) -> None:
    done = recorded(3, "--sizes", "4K,1M,8K", *QUICK, fault="poor")
    assert [rank["code"] for rank in done.ranks] == [0, 0, 0]
    assert [(row["bytes"], row["quality"] == "skipped") for row in done.rows[::4]] == [
        ("4096", False), ("8192", False), (str(2**20), True),
    ]
    assert len(done.rows) == 12
    for row in done.rows[8:]:
        assert row["time_median_s"] == ""
        assert re.match(r"rank 2 on .* has 0.001 GB of memory left, but it needs 0.00\d+ GB", row["reason"])
    assert {rank["exchanges"]["ring"] for rank in done.ranks} == {2 * (1 + 1 + 3)}


def test_a_late_master_of_large_gradients_takes_no_more_memory(recorded: Callable[..., Recorded]) -> None:
    late = ("-s", "ps", "--sizes", "16M", "--server-buffer", "4M", "-n", "1", "-w", "0", "--straggler", "0:300ms")
    done = recorded(4, *late, strategy="none")
    assert done.job.returncode == 0, done.job.stderr
    assert done.rows[0]["wrong_elements"] == "0"
    assert seconds(done.rows[0]) > 0.3
    before, most = done.ranks[0]["peaks"]
    assert most - before < 8 * 2**20  # what the 3 workers send at once would be 48 MiB


@pytest.mark.parametrize("dtype", ["float16", "half", "double", "int32", "int64", "uint8", "bf16"])
def test_every_dtype_is_summed_exactly_or_skipped_with_the_reason(dtype: str) -> None:
    job = dpbench(2, "-d", dtype, "--sizes", "4K", *QUICK, "--csv", "-")
    assert job.returncode == 0, job.stderr
    for row in rows_of(job.stdout):
        if (row["dtype"], row["strategy"]) == ("bfloat16", "mpi"):
            assert (row["quality"], row["time_median_s"]) == ("skipped", "")
            assert "bfloat16" in row["reason"]
        else:
            assert row["wrong_elements"] == "0"


def test_more_than_2_to_the_31_elements_are_summed_or_skipped_with_the_reason() -> None:
    whole = ["--sizes", str(2**31 + 8), "-d", "uint8", "-n", "1", "-w", "0", "--max-time", "1", "--csv", "-"]
    one_message = ["-s", "ps", "--slices", "1"]  # in every other case there are many
    job = mpirun(2, *DPBENCH, *one_message, *whole, timeout=300)
    assert job.returncode == 0, job.stderr
    (ours,) = rows_of(job.stdout)
    assert (ours["count"], ours["wrong_elements"]) == (str(2**31 + 8), "0")
    if ours["mpi_library"].startswith("Open MPI"):  # the other's own takes as long again
        (row,) = rows_of(mpirun(2, *DPBENCH, "-s", "mpi", *whole, timeout=300).stdout)
        assert (row["quality"], row["reason"]) == ("skipped", "Open MPI refuses counts above 2147483647")
