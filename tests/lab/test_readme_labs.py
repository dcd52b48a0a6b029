"""The README's labs run."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from launcher import launcher, run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.findall(r"^```sh\n# on a Linux machine with iproute2\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[0]
COMMANDS = [line.partition("  #")[0].strip() for line in BLOCK.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_lab_of_the_readme_runs(command: str) -> None:
    _, environ = launcher()
    program, *words = shlex.split(command)
    assert program == "dpbench"
    job = run([sys.executable, "-m", "dpbench", *words], environ | {"PYTHONPATH": str(ROOT)}, timeout=120)
    assert job.returncode == 0, job.stderr
    assert ("slow:" in job.stdout) == ("--slow" in words)
    nodes = ["n1", "n2", "n3", "n4"]
    assert f"4 on 4 nodes: {', '.join(nodes)}" in job.stdout or sorted(job.stdout.split()) == nodes
