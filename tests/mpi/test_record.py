"""What a run keeps to be judged later: its JSON document, and `dpbench env` before it in the same job."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from launcher import Finished, launcher, mpirun, run

from jobs import DPBENCH, ROOT, rows_of

QUICK = ("-w", "2", "-n", "7", "-q")


def dpbench(ranks: int, *args: str, **env: str) -> Finished:
    return mpirun(ranks, *DPBENCH, *args, env={"PYTHONPATH": str(ROOT), **env})


def document(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="ascii"))
    assert isinstance(found, dict)
    return found


def test_the_document_has_the_rows_of_the_csv_and_the_times_they_are_made_of(tmp_path: Path) -> None:
    files = ("--csv", str(tmp_path / "out.csv"), "--json", str(tmp_path / "out.json"))
    job = dpbench(3, "-s", "ps,ring,mpi", "--sizes", "8,4K", *QUICK, *files, SLURM_JWT="s3cr3t", UCX_TEST="kept")
    assert (job.returncode, job.stderr) == (0, "")
    found, rows = document(tmp_path / "out.json"), rows_of((tmp_path / "out.csv").read_text())
    assert found["complete"]
    as_in_csv = [{name: "" if value is None else str(value) for name, value in row.items()} for row in found["rows"]]
    assert as_in_csv == rows
    assert [(each["strategy"], each["bytes"]) for each in found["plan"]] == [
        (name, size) for size in (8, 4096) for name in ("ps", "ring", "mpi")
    ]
    for row, raw in zip(found["rows"], found["raw"], strict=True):
        assert (raw["strategy"], raw["bytes"]) == (row["strategy"], row["bytes"])
        lengths = [[len(times) for times in raw[name]["by_rank"]] for name in ("first_s", "warmups_s", "samples_s")]
        assert lengths == [[1] * 3, [2] * 3, [7] * 3]
        slowest = sorted(map(max, zip(*raw["samples_s"]["by_rank"], strict=True)))
        assert (row["time_min_s"], row["time_median_s"], row["time_max_s"]) == (slowest[0], slowest[3], slowest[-1])
    environment = found["environment"]
    assert [(each["rank"], each["local_rank"]) for each in environment["ranks"]] == [(0, 0), (1, 1), (2, 2)]
    (node,) = environment["nodes"]
    assert (node["host"], node["transport"]) == (environment["ranks"][2]["host"], "unknown")
    assert node["variables"]["UCX_TEST"] == "kept"
    assert "s3cr3t" not in (tmp_path / "out.json").read_text()
    assert len(found["environment_after"]) == 1


def test_on_made_up_nodes_each_tells_of_itself_and_the_links_are_kept() -> None:
    nodes = "node@0=a,node@1=a,node@2=b,node@3=b"
    job = dpbench(4, "-s", "ring", "--sizes", "4K", *QUICK, "--json", "-", DPBENCH_TEST_HOOKS=nodes)
    assert job.returncode == 0, job.stderr
    found = json.loads(job.stdout)
    assert [each["host"] for each in found["environment"]["nodes"]] == ["a", "b"]
    assert [each["host"] for each in found["environment_after"]] == ["a", "b"]
    assert found["calibration"]["cpu"]["rank"] > 0
    assert found["rows"][0]["limit_s"] > 0


@pytest.mark.parametrize(("fault", "is_over", "invalid"), [("kill@1:ring:12=9", False, [False]),
                                                           ("corrupt@1:ring:12=nan", True, [False, True])])  # fmt: skip
def test_a_run_that_fails_leaves_a_valid_document(
    fault: str, is_over: bool, invalid: list[bool], tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    job = dpbench(2, "-s", "ring", "--sizes", "4K,8K", *QUICK, "--json", str(path), DPBENCH_TEST_HOOKS=fault)
    assert job.returncode
    found = document(path)
    assert found["complete"] == is_over
    assert [each["quality"] == "invalid" for each in found["rows"]] == invalid
    assert len(found["raw"]) == 1  # a wrong result has no times


def test_env_may_stand_before_a_run_in_the_same_job() -> None:
    command, environ = launcher()
    both = f"{sys.executable} -m dpbench env && {sys.executable} -m dpbench run -s ring --sizes 4K -w 1 -n 3 -q"
    job = run([*command, "-n", "2", "bash", "-c", both], {**environ, "PYTHONPATH": str(ROOT)}, timeout=60)
    assert job.returncode == 0, job.stderr
    assert len(re.findall("^launched +by .*: rank 0 of 2$", job.stdout, re.MULTILINE)) == 1
    assert len(re.findall("^ring ", job.stdout, re.MULTILINE)) == 1
    assert "note" not in job.stderr
