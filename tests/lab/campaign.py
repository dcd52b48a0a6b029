"""Labs in a row, some of them with a process killed at a random moment: nothing may be left of any.

`python tests/lab/campaign.py [LABS] [SEED]` from the repository's root; a fifth of the labs is killed.
"""

import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from labs import links_and_namespaces, running

WORDS = ("run", "-s", "ps,ring,mpi", "--sizes", "64K", "-n", "5", "-w", "1", "-q", "--calibrate", "0")
LONGEST_S = 3  # about as long as such a lab lives
FOLDERS = (Path("/dev/shm"), Path("/tmp"))
OURS = ("dpbench", "hydra_", "ompi.", "prte.", "mpich_", "ucx_", "sm_segment.", "n1", "agent", "enter", "hosts")


def traces() -> tuple[list[str], set[str]]:
    """Return what a lab could leave: links, namespaces, mounts, and files where MPI and labs put theirs."""
    folders = {*FOLDERS, Path(tempfile.gettempdir())}
    return links_and_namespaces(), {
        str(path) for folder in folders for path in folder.iterdir() if path.name.startswith(OURS)
    }


def one(kill_after: float | None, choose: random.Random) -> str:
    """Run one lab, kill one of its processes if so wished, and return what happened. It must vanish."""
    with running(*WORDS) as lab:
        if kill_after is None:
            assert lab.job.wait(timeout=60) == 0
            return "finished"
        time.sleep(kill_after)
        processes = lab.processes()
        if not processes:
            return "finished before it could be killed"
        victim = choose.choice(sorted(processes))
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        lab.assert_gone()
        return f"killed after {kill_after:.2f} s: {processes[victim][:60]}"


def campaign(labs: int, seed: int) -> list[str]:
    """Run so many labs and return what happened to each. Raises AssertionError if one leaves something."""
    choose = random.Random(seed)
    killed = set(choose.sample(range(labs), labs // 5))
    before = traces()
    happened = []
    for index in range(labs):
        happened.append(one(choose.uniform(0, LONGEST_S) if index in killed else None, choose))
        network, left = traces()
        assert network == before[0], happened[-1]
        assert not left - before[1], (happened[-1], left - before[1])
    return happened


if __name__ == "__main__":
    count, seed = [*map(int, sys.argv[1:]), *(50, 1)[len(sys.argv) - 1 :]]
    for line in campaign(count, seed):
        print(line)
    print(f"{count} labs, nothing left (seed {seed})")
