"""A node's link is cut in the middle of a run: the watchdog of those that are left ends the job, and nothing stays."""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from labs import links_and_namespaces, running

from dpbench.engine.library import bound_library

TIMEOUT_S = 2
GRACE_S = 15  # the watchdog's at most, of ranks that wait for others outside an exchange
ENDING_S = 5  # of the ranks and their launcher
WATCHED = r"dpbench: rank [012] on n[123]: {} .*waits? for .*; no progress for"


@pytest.mark.parametrize("strategy", ["ring", "ps"])
def test_a_cut_link_ends_the_job_within_the_watchdogs_time(strategy: str, tmp_path: Path) -> None:
    before = links_and_namespaces()
    said, begun, cut = tmp_path / "said", tmp_path / "begun.csv", tmp_path / "cut"
    run = f"-s {strategy} --sizes 4K,64K -w 1 -n 10000 --timeout {TIMEOUT_S} --calibrate 0 --csv {begun} -q"
    script = f"""
        mpiexec -n 3 {sys.executable} -m dpbench {run} 2> {said} &
        while ! test -e {begun}; do sleep 0.1; done
        sleep 1
        /dev/shm/enter n2 ip link set eth0 down
        touch {cut}
        wait $!
    """
    with running("sh", "-c", script) as lab:
        wait_for(cut.exists, 60)
        wait_for(lambda: re.search(WATCHED.format(strategy), said.read_text()), TIMEOUT_S + GRACE_S + ENDING_S)
        # Open MPI's launcher goes on waiting for the node that it cannot reach, until TCP gives up.
        if not bound_library().is_open_mpi:
            assert lab.job.wait(ENDING_S) == 4
            lab.assert_gone()
    assert begun.read_text().startswith("schema,")
    assert links_and_namespaces() == before


def wait_for(happens: Callable[[], object], seconds: float) -> None:
    """Return when it has happened; fail if that takes longer."""
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)
