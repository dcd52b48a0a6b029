"""Training steps on real ranks: every worker's weights are those of one process alone, and the phases are shown."""

import re
from pathlib import Path

import pytest
from launcher import mpirun
from test_exchange import check

from jobs import DPBENCH, program, rows_of

PHASES = {
    "ps": ["push", "aggregate", "update", "pull"],
    "sharded-ps": ["push", "aggregate", "update", "pull"],
    "ring": ["reduce-scatter", "additions", "all-gather", "update"],
    "mpi": ["all-reduce", "update"],
}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_weights_are_bit_identical_to_those_of_one_process_after_10_steps(ranks: int) -> None:
    slicings = [(1, 1), (5, 2)]
    check(ranks, dtypes=["float32", "float64"], counts=[1, 4097], bytes=[2**16], slicings=slicings, steps=10)


def test_a_step_is_measured_with_its_phases() -> None:
    typed = ("step", "--sizes", "4K,256K", "-n", "30", "--compute", "2ms", "--lr", "0.5", "--textbook")
    job = mpirun(3, *DPBENCH, *typed, "--csv", "-")
    assert job.returncode == 0, job.stderr
    found = rows_of(job.stdout)
    expected = [(name, part) for name in PHASES for part in ["step", "compute", *PHASES[name]]]
    assert [(row["strategy"], row["operation"]) for row in found] == 2 * expected
    assert {row["wrong_elements"] for row in found} == {"0"}
    for row in found:
        travels = row["operation"] in ("push", "pull", "reduce-scatter", "all-gather") or (
            row["operation"] == "step" and row["strategy"] != "mpi"
        )
        assert (row["total_bytes"] != "") == travels
        assert float(row["time_median_s"]) >= (2e-3 if row["operation"] in ("step", "compute") else 0)
    assert "2.000 ms of computing, the exchange, and weights -= 0.5" in " ".join(job.stderr.split())


@pytest.mark.parametrize("dedicated", [[], ["--dedicated-servers"]])
def test_servers_that_only_serve_keep_the_weights_too(dedicated: list[str]) -> None:
    job = mpirun(4, *DPBENCH, "step", "-s", "ps,sharded-ps,ring", "--sizes", "64K", "-d", "half", "-n", "6", *dedicated)
    assert job.returncode == 0, job.stderr
    assert re.search("^ps .* 0 ", job.stdout, re.MULTILINE)


def test_a_wrong_weight_is_found_and_gives_no_time(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    args = ("step", "--sizes", "4K", "-n", "6", "-w", "1", "--csv", str(path))
    job = program(3, "recorded", str(tmp_path), "wrong", "ring", *args)
    assert job.returncode == 1, job.stderr
    found = {(row["strategy"], row["operation"]): row for row in rows_of(path.read_text())}
    assert found["ring", "step"]["quality"] == "invalid"
    assert int(found["ring", "step"]["wrong_elements"]) >= 1
    assert found["ps", "step"]["quality"] in ("ok", "warn")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("-d int32", "--dtype int32: weights are real numbers; take one of float32"),
        ("--lr 1e9 -d half", "--lr 1e.09: weights of float16 need a rate from"),
        ("--lr 0", "'0' is not allowed: a number above 0"),
        ("--compute -1ms", "'-1ms' is not a time"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_one_message(typed: str, words: str) -> None:
    job = mpirun(2, *DPBENCH, "step", "--sizes", "4K", *typed.split())
    assert job.returncode == 2
    messages = re.findall("^dpbench: .*", job.stderr, re.MULTILINE)
    assert len(messages) == 1
    assert re.search(words, messages[0])
