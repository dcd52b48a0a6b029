"""Warnings of a real run, and the exit code that --strict makes of them."""

import json
import re

from launcher import mpirun

from jobs import DPBENCH

OF_THE_MACHINE = {"W02", "W03", "W05", "W06", "W07", "W09"}  # whatever else runs on it may provoke these


def test_strict_ends_with_5_and_says_why_and_each_code_has_its_sentences() -> None:
    job = mpirun(2, *DPBENCH, "-s", "ring,mpi", "--sizes", "64K,256K", "-n", "5", "-w", "1", "--strict", "--json", "-")
    assert job.returncode == 5, job.stderr
    found = json.loads(job.stdout)
    assert found["complete"]
    assert found["run"]["floor_s"] > found["run"]["timer_overhead_s"] >= 0
    assert found["run"]["timer_resolution_s"] > 0
    told = [(each["strategy"], each["bytes"], each["code"]) for each in found["warnings"]]
    codes = [(row["strategy"], row["bytes"], code) for row in found["rows"] for code in row["warnings"].split()]
    assert told == codes
    assert {code for *_, code in codes} - OF_THE_MACHINE == {"W14"}
    assert [each["cause"] for each in found["warnings"] if each["code"] == "W14"] == [
        "5 of the 6 samples that an interval needs"
    ] * 4
    assert re.search(r"^W14 in 4 rows: ring 64 KiB, mpi 64 KiB, ring 256 KiB, …$", job.stderr, re.MULTILINE)
    messages = re.findall(r"^dpbench: .*", job.stderr, re.MULTILINE)
    assert len(messages) == 1
    end = r"dpbench: --strict: of 4 rows 4 with warnings \([W\d, ]*W14[W\d, ]*\): exit code 5"
    assert re.fullmatch(end, messages[0])
