"""Some ranks at a time measure while the others sleep: rows, tables and files say who, and a failure ends all."""

import json
import re
import time
from pathlib import Path

import pytest
from launcher import Finished, mpirun

from jobs import DPBENCH, rows_of

DEALT_OUT = "node@0=a,node@1=b,node@2=a,node@3=b"
QUICK = ("--sizes", "4K,64K", "-n", "3", "-w", "1", "--scaling", "4,2", "--calibrate", "0")


def job(*args: str, faults: str = DEALT_OUT) -> Finished:
    return mpirun(4, *DPBENCH, *QUICK, *args, env={"DPBENCH_TEST_HOOKS": faults})


@pytest.mark.parametrize(
    ("args", "nodes", "hops", "members"),
    [
        (("--placement", "packed", "--ring-order", "world"), "1", 4, [0, 2]),
        (("--placement", "spread"), "2", 2, [0, 1]),
    ],
)
def test_few_ranks_then_all(args: tuple[str, ...], nodes: str, hops: int, members: list[int], tmp_path: Path) -> None:
    document = tmp_path / "out.json"
    done = job("-s", "ps,ring,mpi", "--csv", "-", "--json", str(document), *args)
    assert done.returncode == 0, done.stderr
    rows = rows_of(done.stdout)
    found = [(row["ranks"], row["workers"], row["nodes"], row["bytes"]) for row in rows]
    assert found[::3] == [*(("2", "2", nodes, size) for size in ("4096", "65536")),
                          *(("4", "4", "2", size) for size in ("4096", "65536"))]  # fmt: skip
    assert {row["wrong_elements"] for row in rows} == {"0"}
    assert f"ring      {hops} of 4 hops from node to node" in done.stderr
    assert ("note      the ring crosses nodes in 4 hops" in done.stderr) == (hops == 4)
    titles = re.findall(r"^(\d+ ranks on .*|\d+ KiB  .*slices.*|\d+ KiB, scaling) *", done.stderr, re.MULTILINE)
    assert [title.split()[0] for title in titles] == ["2", "4", "64", "4", "4", "64", "4", "64"]
    told = json.loads(document.read_text())
    assert [(each["ranks"], each["members"]) for each in told["groups"]] == [(2, members), (4, [0, 1, 2, 3])]
    assert len(told["rows"]) == len(told["raw"]) == len(told["plan"]) == 12
    assert {len(each["samples_s"]["by_rank"]) for each in told["raw"]} == {2, 4}
    assert told["complete"]


def test_a_rank_that_fails_while_others_sleep_ends_them() -> None:
    done = job("-s", "ring", "--placement", "packed", faults=f"{DEALT_OUT},raise@2:ring:3=KeyError")
    (planted,) = re.findall(r"^planted raise at ([\d.]+)$", done.stderr, re.MULTILINE)
    assert time.time() - float(planted) < 10
    assert done.returncode == 4
    assert "dpbench: rank 2 on a: ring 4 KiB on 2 ranks, iteration 3: KeyError: 'planted'" in done.stderr


def test_a_wrong_sum_among_some_ranks_is_every_ranks_exit_code_and_spoils_no_other_row() -> None:
    done = job("-s", "ps,ring", "--placement", "packed", "--csv", "-", faults=f"{DEALT_OUT},corrupt@2:ring:3")
    assert done.returncode == 1
    assert {(row["strategy"], row["ranks"], row["quality"]) for row in rows_of(done.stdout)} == {
        *(("ps", ranks, "warn") for ranks in "24"),
        *(("ring", ranks, "invalid") for ranks in "24"),
    }


def test_a_signal_among_some_ranks_marks_what_is_missing_of_all() -> None:
    done = job("-s", "ring", "--placement", "packed", "--csv", "-", faults=f"{DEALT_OUT},kill@2:ring:3=15")
    assert done.returncode == 143
    assert [(row["ranks"], row["bytes"], row["reason"]) for row in rows_of(done.stdout)] == [
        (ranks, size, "stopped by SIGTERM") for ranks in "24" for size in ("4096", "65536")
    ]
