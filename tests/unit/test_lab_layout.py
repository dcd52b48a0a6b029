"""What a lab is made of, as texts; what it refuses, and why."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from dpbench.cli.lab import lab
from dpbench.cli.lab import program as meant
from dpbench.errors import PlatformError, UsageError
from dpbench.lab import support
from dpbench.lab.launching import AGENT, MPICH_HOSTS, OPEN_MPI_HOSTS, environment, files
from dpbench.lab.layout import Layout
from dpbench.lab.network import node_script, switch_script

MBIT = 1e6 / 8
THREE = Layout(nodes=3, rate=200 * MBIT, slow={3: 20 * MBIT}, ranks_per_node=2)


def test_a_nodes_link_is_made_in_its_namespace_and_handed_to_the_switch() -> None:
    assert node_script(THREE, 2) == (
        "ip -batch - <<END\n"
        "link set lo up\n"
        "link add eth0 type veth peer name port2 netns 1\n"
        "address add 10.77.0.2/24 dev eth0 noprefixroute\n"
        "link set eth0 up addrgenmode none\n"
        "route add 10.77.0.0/24 dev eth0 src 10.77.0.2 congctl reno\n"
        "END\n"
        "tc qdisc add dev eth0 root tbf rate 200000000bit burst 125000 latency 100ms\n"
    )


def test_the_switch_joins_all_links_and_limits_what_they_receive() -> None:
    script = switch_script(THREE).splitlines()
    assert [line for line in script if "master switch" in line] == [
        f"link set port{node} master switch up addrgenmode none" for node in (1, 2, 3)
    ]
    assert [line for line in script if line.startswith("qdisc")] == [
        "qdisc add dev port1 root tbf rate 200000000bit burst 125000 latency 100ms",
        "qdisc add dev port2 root tbf rate 200000000bit burst 125000 latency 100ms",
        "qdisc add dev port3 root tbf rate 20000000bit burst 70000 latency 100ms",
    ]


def test_each_node_has_a_name_an_address_and_room_for_its_ranks() -> None:
    texts = files(THREE)
    assert texts[MPICH_HOSTS] == "n1:2\nn2:2\nn3:2\n"
    assert texts[OPEN_MPI_HOSTS] == "n1 slots=2\nn2 slots=2\nn3 slots=2\n"
    assert "10.77.0.3 n3\n" in texts[AGENT.with_name("hosts")]
    assert THREE.ranks == 6


def test_ranks_can_be_dealt_out_to_the_nodes() -> None:
    layout = replace(THREE, distribution="cyclic")
    assert (files(layout)[MPICH_HOSTS], files(layout)[OPEN_MPI_HOSTS]) == (
        "n1:1\nn2:1\nn3:1\n",
        "n1 slots=2\nn2 slots=2\nn3 slots=2\n",
    )
    mapping = "PRTE_MCA_rmaps_default_mapping_policy"
    policies = [environment({}, each.distribution)[mapping] for each in (THREE, layout)]
    assert policies == ["slot:oversubscribe", "node:oversubscribe"]


def test_a_layout_is_the_same_in_another_process() -> None:
    assert Layout.from_json(THREE.to_json()) == THREE


def test_people_read_rates_and_from_which_size_on_they_count() -> None:
    line = THREE.describe()
    assert "3 nodes, 200 Mbit/s each way, n3 20 Mbit/s;" in line
    assert "125 kB" in line
    assert "70 kB" in Layout(nodes=2, rate=1 * MBIT).describe()
    assert "1 Gbit/s" in Layout(nodes=1, rate=1000 * MBIT).describe()


@pytest.mark.parametrize("slow", [{0: MBIT}, {4: MBIT}])
def test_only_a_node_that_exists_can_be_slow(slow: dict[int, float]) -> None:
    with pytest.raises(UsageError, match=r"--slow [04]: .* 1 to 3"):
        Layout(nodes=3, rate=MBIT, slow=slow)


@pytest.mark.parametrize(("rate", "slow"), [(0.5, 1), (2e5, 1), (1, 0.5)])
def test_a_link_has_a_possible_rate(rate: float, slow: float) -> None:
    with pytest.raises(UsageError, match="from 1 Mbit/s to 100 Gbit/s"):
        Layout(nodes=3, rate=rate * MBIT, slow={1: slow * MBIT})


def given(*typed: str) -> dict[str, object]:
    return lab.make_context("lab", list(typed)).params


@pytest.mark.parametrize("number", ["0", "65", "x", "-1", "1.5"])
@pytest.mark.parametrize("name", ["--nodes", "--ranks-per-node"])
def test_counts_are_from_1_to_64(name: str, number: str) -> None:
    with pytest.raises(click.BadParameter, match="from 1 to 64"):
        given(name, number)


@pytest.mark.parametrize("text", ["3", "3:", ":1mbit", "x:1mbit", "3:fast", "-3:1mbit", "9999999999:1mbit"])
def test_a_slow_node_is_a_number_and_a_rate(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"NODE:RATE|rate"):
        given("--slow", text)


def test_what_follows_the_options_is_passed_on_untouched() -> None:
    found = given("--nodes", "3", "--slow", "2:20mbit", "--", "run", "--nodes", "--", "-h")
    assert (found["nodes"], found["slow"]) == (3, ((2, 20 * MBIT),))
    assert found["words"] == ("run", "--nodes", "--", "-h")


ME = [sys.executable, "-m", "dpbench"]


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], [*ME, "run", "--ranks", "6"]),
        (["run", "-s", "ps"], [*ME, "run", "--ranks", "6", "-s", "ps"]),
        (["-s", "ps"], [*ME, "run", "--ranks", "6", "-s", "ps"]),
        (["list"], [*ME, "list"]),
        (["--version"], [*ME, "--version"]),
        (["sh", "-c", "x"], ["sh", "-c", "x"]),
    ],
)
def test_a_dpbench_command_runs_on_all_ranks_and_any_other_program_on_the_first_node(
    words: list[str], command: list[str]
) -> None:
    assert meant(words, 6) == command


def test_a_word_that_is_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'no-such' is neither a dpbench command \(.*run.*\) nor a program"):
        meant(["no-such"], 6)


def test_variables_of_other_launchers_stay_outside() -> None:
    inside = environment({"PATH": "/my/bin", "SLURM_JOB_ID": "1", "PMI_RANK": "0", "OMPI_MCA_pml": "ucx", "X": "1"})
    assert not {"SLURM_JOB_ID", "PMI_RANK"} & set(inside)
    assert (inside["X"], inside["OMPI_MCA_pml"], inside["UCX_TLS"]) == ("1", "ob1", "tcp,self")
    folders = inside["PATH"].split(":")
    assert folders[:2] == [str(Path(sys.executable).parent), "/my/bin"]
    assert "/usr/sbin" in folders


def test_other_systems_are_told_that_a_lab_needs_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(PlatformError, match=r"needs Linux.*darwin"):
        support.opening({"PATH": ""})


def test_missing_programs_are_named_with_their_packages(tmp_path: Path) -> None:
    for tool in ("unshare", "nsenter", "mount"):
        (tmp_path / tool).touch(mode=0o755)
    with pytest.raises(PlatformError, match=r"needs ip, tc: apt install iproute2$"):
        support.opening({"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor.*=0"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces="),
        ("user/max_user_namespaces", "100", "--privileged"),
    ],
)
def test_the_setting_that_forbids_namespaces_is_named(tmp_path: Path, name: str, value: str, words: str) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(f"{value}\n")
    assert re.search(words, support.remedy(tmp_path))
