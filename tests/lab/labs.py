"""Labs that run while a test does something to them, and what a machine must look like afterwards."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher import MARK, end_all, survivors

LAB = [sys.executable, "-m", "dpbench", "lab"]
ROOT = Path(__file__).parents[2]
PATIENCE_S = 5

SLEEP = ("sleep", "4321")
VICTIMS: dict[str, Callable[[str], bool]] = {
    "outside": lambda line: line.startswith(" ".join(LAB)),
    "unshare": lambda line: line.startswith("unshare --net"),
    "inside": lambda line: line.startswith(f"{sys.executable} -m dpbench.lab.inside"),
    "mpiexec": lambda line: Path(line.split()[0]).name in ("mpiexec", "mpirun", "prterun"),
    "daemon": lambda line: Path(line.split()[0]).name in ("hydra_pmi_proxy", "prted"),
    "rank": lambda line: line.split() == list(SLEEP),
}


class Running:
    """A lab of three nodes in which MPI ranks run."""

    def __init__(self, *words: str) -> None:
        self.mark = f"{MARK}={uuid.uuid4().hex}"
        environ = os.environ | dict([self.mark.split("=")])
        command = ["env", "--default-signal=INT", *LAB, "--nodes", "3", "--", *words]
        null = subprocess.DEVNULL
        self.job = subprocess.Popen(
            command, env=environ, cwd=ROOT, stdin=null, stdout=null, stderr=null, start_new_session=True
        )

    def find(self, wanted: Callable[[str], bool], number: int) -> list[int]:
        """Return the processes whose command line is wanted, once there are so many."""
        deadline = time.monotonic() + 30
        while len(found := [pid for pid, line in self.processes().items() if line and wanted(line)]) < number:
            assert time.monotonic() < deadline, self.processes()
            time.sleep(0.05)
        return found

    def processes(self) -> dict[int, str]:
        """Return the command line of every process of the lab, outside and inside."""
        return {pid: command_line(pid) for pid in survivors(self.job.pid, self.mark)}

    def assert_gone(self) -> None:
        """Fail unless the lab and all of its processes end soon: its namespaces and links end with them."""
        deadline = time.monotonic() + PATIENCE_S
        while self.job.poll() is None or self.processes():
            assert time.monotonic() < deadline, self.processes()
            time.sleep(0.05)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@contextmanager
def running(*words: str) -> Iterator[Running]:
    lab = Running(*words)
    try:
        yield lab
    finally:
        end_all(lab.job.pid, lab.mark)
        lab.job.wait()


def links_and_namespaces() -> list[str]:
    commands = (["ip", "-o", "link"], ["ip", "netns", "list"], ["cat", "/proc/self/mountinfo"])
    return [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in commands]
