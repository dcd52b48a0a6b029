"""A Slurm of four nodes on this machine, for tests: its own munge, one controller, a slurmd per node, one folder."""

import getpass
import os
import platform
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from random import randrange
from typing import NamedTuple

from launcher import MARK, SHARED, launcher, remove_unused, survivors

NODES = 4
CPUS = 4
GPUS = 4
DAEMONS = ("munged", "slurmctld", "slurmd")
PROGRAMS = (*DAEMONS, "sbatch", "scontrol", "scancel", "sinfo", "srun")
INSTALL = "apt-get install slurm-wlm munge libpmix-dev shellcheck"
UNFINISHED = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")

TEMPLATE = Path(__file__).with_name("slurm.conf")
NODE = "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=4000 {more}"


class Job(NamedTuple):
    """How a job ended: Slurm's word for it, the exit code of its script, and what it printed."""

    number: str
    state: str
    code: int
    output: str


class Slurm:
    """The daemons of a cluster; a context manager that leaves neither process nor file."""

    def __init__(self, nodes: int = NODES) -> None:
        missing = [name for name in PROGRAMS if not program(name)]
        assert not missing, f"not installed: {', '.join(missing)}; {INSTALL}"
        self.nodes = nodes
        self.mark = uuid.uuid4().hex
        self.shared_before = set(SHARED.glob("*"))
        self.daemons: list[subprocess.Popen[bytes]] = []
        # Not below pytest's folder: the names of sockets may have 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="dpbench-slurm-"))
        _, environ = launcher()
        self.environ = {**environ, MARK: self.mark, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self) -> "Slurm":
        with ExitStack() as on_failure:
            on_failure.push(self.__exit__)
            self.configure()
            self.start()
            on_failure.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        until(lambda: not self.kill(), 10, lambda: f"{self.processes()} cannot be killed")
        for daemon in self.daemons:
            daemon.wait()
        shutil.rmtree(self.folder)
        remove_unused(self.shared_before)

    def kill(self) -> bool:
        """Kill every process of the cluster and return whether there was one."""
        found = self.processes()
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(found)

    def processes(self) -> list[int]:
        """Return the living processes of the cluster and its jobs.

        They inherit its mark; a slurmstepd, which writes its title over its environment, has the cluster's folder.
        """
        steps = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended, or it is another user's
                if (process / "cwd").readlink() == self.folder:
                    steps.append(int(process.name))
        return [*survivors(-1, f"{MARK}={self.mark}"), *steps]

    def configure(self) -> None:
        """Write the files that the daemons need."""
        host, ports = platform.node(), free_ports(1 + self.nodes)
        node = partial(NODE.format, host=host, cpus=CPUS, more=f"Gres=gpu:{GPUS}")
        nodes = [node(number=n, port=ports[n]) for n in range(1, self.nodes + 1)]
        (self.folder / "slurm.conf").write_text(
            TEMPLATE.read_text().format(
                host=host,
                user=getpass.getuser(),
                folder=self.folder,
                ports=ports,
                nodes="\n".join(nodes),
                first=first_job(),
            )
        )
        self.pretend_gpus()
        for name in ("state", *(f"n{n}" for n in range(1, self.nodes + 1))):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(uuid.uuid4().bytes * 8)

    def pretend_gpus(self) -> None:
        """Give each node files in the place of the devices of GPUs."""
        (self.folder / "gres.conf").write_text(f"Name=gpu File={self.folder}/gpu[0-{GPUS - 1}]\n")
        for gpu in range(GPUS):
            (self.folder / f"gpu{gpu}").touch()

    def start(self) -> None:
        """Start the daemons and return when every node waits for a job."""
        files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munged.pid"}
        files |= {"log-file": "munged.log", "seed-file": "munged.seed"}
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self.daemon("munged", "--foreground", "--force", *options)
        until((self.folder / "munge.socket").exists, 10, self.logs)
        self.daemon("slurmctld", "-D")
        for node in range(1, self.nodes + 1):
            self.daemon("slurmd", "-D", "-N", f"n{node}")
        idle = str(self.nodes)
        until(lambda: self.client("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() == idle, 30, self.logs)

    def daemon(self, name: str, *args: str) -> None:
        """Start a daemon; its output goes to a file, so that nothing waits for it."""
        with (self.folder / "daemons.log").open("ab") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            command = [str(program(name)), *args]
            self.daemons.append(
                subprocess.Popen(command, env=self.environ, cwd=self.folder, start_new_session=True, **streams)
            )

    def logs(self) -> str:
        """Return the ends of all daemons' logs."""
        return "\n".join(f"{log.name}:\n{log.read_text()[-1000:]}" for log in sorted(self.folder.glob("*.log")))

    def client(
        self, *command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's commands."""
        environ = {**self.environ, **(env or {})}
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=environ, cwd=cwd)

    def submit(self, *command: str, cwd: Path, env: Mapping[str, str]) -> str:
        """Submit `sbatch *command` and return the job's number."""
        submitted = self.client("sbatch", "--parsable", *command, cwd=cwd, env=env)
        assert submitted.returncode == 0, submitted.stderr
        return submitted.stdout.strip()

    def wait(self, number: str, log: Path, timeout: float) -> Job:
        """Return how a job ended, whose output is in `log`."""

        def said() -> str:
            return log.read_text(errors="replace") if log.exists() else "(no output)"

        try:
            until(lambda: self.facts(number).get("JobState", "PENDING") not in UNFINISHED, timeout, said)
        except AssertionError:
            self.client("scancel", number)
            raise
        facts = self.facts(number)
        return Job(number, facts["JobState"], int(facts["ExitCode"].split(":")[0]), said())

    def facts(self, number: str) -> dict[str, str]:
        """Return what Slurm says about a job; values end at a blank."""
        words = self.client("scontrol", "--oneliner", "show", "job", number).stdout.split()
        return {name: value for name, equals, value in (word.partition("=") for word in words) if equals}


def program(name: str) -> str | None:
    """Return the path of a program of Slurm, whose daemons lie where ordinary users do not look."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def first_job() -> int:
    """Return a number that no job has had: MPICH calls its shared memory by them, and killed ranks leave theirs."""
    return randrange(1, 2**25)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def until(condition: Callable[[], object], patience_s: float, explain: Callable[[], str]) -> None:
    """Wait for a condition; raises AssertionError with an explanation if it takes too long."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience_s} s:\n{explain()}"
        time.sleep(0.2)
