"""The bytes that dpbench counts are those that the kernel sees on the links."""

import json
import os
import sys
from pathlib import Path

import pytest
from labs import LAB, ROOT
from launcher import run

MIB, NODES = 2**20, 4
HEADERS = 0.06  #: of what the kernel counts: they, acknowledgements, and the start and end of the job


@pytest.mark.parametrize(
    ("strategy", "sent"),  # by each node and exchange, in MiB of a gradient of 4 MiB
    [("ps", [12, 4, 4, 4]), ("sharded-ps", [6, 6, 6, 6]), ("ring", [6, 6, 6, 6])],
)
def test_the_kernel_counts_the_same_bytes(strategy: str, sent: list[int]) -> None:
    script = str(Path(__file__).with_name("counters.py"))
    lab = [*LAB, "--nodes", str(NODES), "--rate", "1gbit"]
    job = run([*lab, "--", sys.executable, script, strategy, "4M", str(NODES)],
              os.environ | {"PYTHONPATH": str(ROOT)}, timeout=60)  # fmt: skip
    assert job.returncode == 0, job.stderr
    found = json.loads(job.stdout)
    assert found["counted"] == 2 * (NODES - 1) * 4 * MIB * found["exchanges"]
    assert found["counted"] <= sum(found["kernel"]) <= found["counted"] * (1 + HEADERS)
    for node, bytes_sent in enumerate(sent):
        right = bytes_sent * MIB * found["exchanges"]
        assert right <= found["kernel"][node] <= right * (1 + HEADERS)
