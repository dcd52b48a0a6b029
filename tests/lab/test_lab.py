"""Real labs: the nodes that MPI sees, the rates that links keep, and that nothing outlives a lab."""

import csv
import os
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from labs import LAB, PATIENCE_S, ROOT, SLEEP, VICTIMS, links_and_namespaces, running
from launcher import Finished, TimedOut, run

SMALL = ["run", "-s", "ring,ps", "--sizes", "256K", "-n", "3", "-w", "1"]


def lab(*typed: str, prefix: tuple[str, ...] = (), **env: str) -> Finished:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return run([*prefix, *LAB, *typed], os.environ | {"PYTHONPATH": path} | env, timeout=60)


def test_a_run_sees_one_node_per_rank_and_writes_where_it_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = lab("--nodes", "3", "--rate", "100mbit", "--", *SMALL, "--csv", "out.csv")
    assert job.returncode == 0, job.stderr
    assert "3 on 3 nodes: n1, n2, n3" in job.stdout
    assert "lab: 3 nodes, 100 Mbit/s each way" in job.stderr
    lines = [line for line in (tmp_path / "out.csv").read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    found = {(row["strategy"], row["nodes"], row["wrong_elements"]) for row in rows}
    assert found == {("ring", "3", "0"), ("ps", "3", "0")}


def test_ranks_of_one_node_are_grouped_by_the_ring_and_some_ranks_measure_their_own_links() -> None:
    layout = ["--nodes", "2", "--ranks-per-node", "2", "--distribution", "cyclic"]
    job = lab(*layout, "--", *SMALL, "--scaling", "2,4", "--placement", "spread")
    assert job.returncode == 0, job.stderr
    assert "4 on 2 nodes × 2: n1, n2" in job.stdout
    assert "2 of 4 hops from node to node: ranks 0 2 1 3" in job.stdout
    assert "2 ranks on 2 nodes: n1, n2" in job.stdout
    assert job.stdout.count("\nlink ") == 2


def test_a_plain_mpiexec_reaches_all_nodes() -> None:
    job = lab("--nodes", "3", "--", "mpiexec", "-n", "3", "hostname")
    assert (job.returncode, sorted(job.stdout.split())) == (0, ["n1", "n2", "n3"])


def test_another_program_runs_on_the_first_node() -> None:
    job = lab("--", "hostname")
    assert (job.returncode, job.stdout) == (0, "n1\n")


def test_arguments_and_standard_input_arrive_as_they_are() -> None:
    words = ["a  b", "$HOME", "'", "--nodes", ""]
    job = lab("--nodes", "1", "--", "printf", "<%s>", *words)
    assert job.stdout == "".join(f"<{word}>" for word in words)
    typed = subprocess.run([*LAB, "--", "cat"], input=b"typed", stdout=subprocess.PIPE, check=True, cwd=ROOT)
    assert typed.stdout == b"typed"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["run", "--sizes", "banana"], 2),
        (["sh", "-c", "exit 77"], 77),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-program"], 2),
    ],
)
def test_the_exit_code_passes_through(words: list[str], code: int) -> None:
    assert lab("--nodes", "2", "--", *words).returncode == code


@pytest.mark.parametrize("typed", ["--nodes 65", "--nodes 2 --slow 3:1mbit", "--rate 1kbit", "--rate fast"])
def test_an_impossible_lab_is_one_message(typed: str) -> None:
    job = lab(*typed.split(), "--", "true")
    assert (job.returncode, job.stderr.count("dpbench: ")) == (2, 1)


def test_a_launcher_starts_no_labs() -> None:
    job = lab("--", "true", PMI_RANK="0", PMI_SIZE="1")
    assert job.returncode == 2
    assert "launcher" in job.stderr


def seconds_to_send(*typed: str, sender: int) -> float:
    """Return how long 4 MB take from one node to the last of three, over one TCP stream."""
    receive = (
        "import socket, time; s = socket.create_server(('10.77.0.3', 5000)); print('up', flush=True)\n"
        "c = s.accept()[0]; b = time.monotonic()\nwhile c.recv(1 << 16): pass\nprint(time.monotonic() - b)"
    )
    send = "import socket; s = socket.create_connection(('10.77.0.3', 5000)); s.sendall(bytes(4 * 10**6))"
    enter, python = "/dev/shm/enter", sys.executable
    script = f'{enter} n3 {python} -c "{receive}" | {{ read up; {enter} n{sender} {python} -c "{send}"; cat; }}'
    job = lab("--nodes", "3", *typed, "--", "sh", "-c", script)
    assert job.returncode == 0, job.stderr
    return float(job.stdout)


@pytest.mark.parametrize("slow", [2, 3])
def test_a_link_keeps_its_rate_in_both_directions(slow: int) -> None:
    seconds = seconds_to_send("--rate", "400mbit", "--slow", f"{slow}:40mbit", sender=2)
    assert 0.70 < seconds < 1.6  # 0.8 s at 40 Mbit/s, less the burst; 0.08 s at 400


def test_two_labs_run_side_by_side() -> None:
    words = ["--nodes", "3", "--", "sh", "-c", "sleep 1; mpiexec -n 3 hostname"]

    def one(_: int) -> Finished:
        try:
            return lab(*words)
        except TimedOut:  # Open MPI's launcher was seen to wait on, on a busy machine, after all had been printed
            return lab(*words)

    with ThreadPoolExecutor(2) as pool:
        for job in pool.map(one, range(2)):
            assert (job.returncode, sorted(job.stdout.split())) == (0, ["n1", "n2", "n3"])


def test_what_programs_leave_in_temporary_folders_vanishes_with_the_lab() -> None:
    name = uuid.uuid4().hex
    job = lab("--", "sh", "-c", f"touch /dev/shm/{name} $TMPDIR/{name}; ls /dev/shm; echo $TMPDIR")
    assert name in job.stdout
    assert job.stdout.endswith("/dev/shm/n1\n")
    assert not Path("/dev/shm", name).exists()
    assert not {"agent", "enter", "hosts", "n1.net"} & set(os.listdir("/dev/shm"))


#: Root without the right that namespaces need has to do as ordinary users do.
AS_USERS_DO = ("setpriv", "--bounding-set", "-sys_admin") if os.geteuid() == 0 else ()


def test_an_ordinary_user_needs_no_rights() -> None:
    script = "cat /proc/self/uid_map; mpiexec -n 2 hostname"
    job = lab("--nodes", "2", "--", "sh", "-c", script, prefix=AS_USERS_DO)
    assert job.returncode == 0, job.stderr
    *uids, first, second = job.stdout.split()
    assert uids == ["0", str(os.geteuid()), "1"]
    assert {first, second} == {"n1", "n2"}


def test_where_namespaces_are_forbidden_the_setting_is_named() -> None:
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set -sys_admin \"$@\""
    job = lab("--", "true", prefix=("unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh"))
    assert job.returncode == 3
    assert "sysctl -w user.max_user_namespaces=" in job.stderr
    assert job.stderr.count("\n") == 1



@pytest.mark.parametrize("victim", VICTIMS)
def test_nothing_is_left_when_any_process_is_killed(victim: str) -> None:
    before = links_and_namespaces()
    with running("mpiexec", "-n", "3", *SLEEP) as lab:
        lab.find(VICTIMS["rank"], 3)
        os.kill(lab.find(VICTIMS[victim], 1)[0], signal.SIGKILL)
        lab.assert_gone()
        # Open MPI's launcher calls it a success when it loses a daemon.
        assert lab.job.returncode != 0 or victim == "daemon"
    assert links_and_namespaces() == before


@pytest.mark.parametrize("to_the_group", [True, False])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_lab_in_order(number: signal.Signals, code: int, to_the_group: bool) -> None:
    with running("mpiexec", "-n", "3", *SLEEP) as lab:
        lab.find(VICTIMS["rank"], 3)
        (os.killpg if to_the_group else os.kill)(lab.job.pid, number)
        assert lab.job.wait(PATIENCE_S) == code
        assert lab.processes() == {}


def is_rank(line: str) -> bool:
    return line.startswith(f"{sys.executable} -m dpbench run -s")


def test_a_rank_killed_in_the_middle_of_a_run_ends_it() -> None:
    with running("run", "-s", "ring", "--sizes", "1M", "-n", "100000") as lab:
        lab.find(is_rank, 3)
        time.sleep(2)  # what watches their start has ended by then
        ranks = lab.find(is_rank, 3)
        os.kill(ranks[1], signal.SIGKILL)
        lab.assert_gone()
        assert lab.job.returncode != 0
