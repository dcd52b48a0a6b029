"""How a plain mpiexec on node 1 reaches all nodes over TCP: files and variables, for both families of MPI.

Whatever runs on a node enters it through one program; MPI calls another, the agent, which takes ssh's arguments.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from dpbench.engine.library import BATCH_SYSTEMS, LAUNCHERS
from dpbench.lab.layout import Layout, address, name

# Private to the lab: the folder is covered by a file system that vanishes with the lab, and with it whatever MPI
# libraries leave in it. Temporary files have a folder per node: on real ones daemons of the same number do not meet.
FOLDER = Path("/dev/shm")
ENTER, AGENT = FOLDER / "enter", FOLDER / "agent"
HOSTS = FOLDER / "hosts"
MPICH_HOSTS, OPEN_MPI_HOSTS = FOLDER / "hosts.mpich", FOLDER / "hosts.openmpi"

CYCLIC = "cyclic"

SYSTEM_PROGRAMS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")

# ENTER HOST COMMAND...: a node sees its own links only where sysfs is mounted anew; UCX looks for them there.
ENTER_TEXT = f"""\
#!/bin/sh
host=$1
shift
if [ "$(uname -n)" = "$host" ]; then exec "$@"; fi
export TMPDIR={FOLDER}/$host
exec nsenter --net={FOLDER}/$host.net --uts={FOLDER}/$host.uts unshare --mount \\
  sh -c 'mount -t sysfs sysfs /sys && exec "$@"' "$host" "$@"
"""

# AGENT [-OPTIONS] HOST WORDS...: what an MPI daemon leaves on a node when it is killed would keep its mpiexec waiting,
# so it gets processes of its own, which end with it.
AGENT_TEXT = f"""\
#!/bin/sh
while case "$1" in -*) ;; *) false ;; esac; do shift; done
host=$1
shift
exec {ENTER} "$host" unshare --pid --fork --kill-child --mount-proc sh -c "$*"
"""


def files(layout: Layout) -> dict[Path, str]:
    """Return the files of a lab and their texts."""
    names = [name(node) for node in layout.numbers]
    addresses = [f"{address(node)} {name(node)}" for node in layout.numbers]
    return {
        ENTER: ENTER_TEXT,
        AGENT: AGENT_TEXT,
        HOSTS: lines(["127.0.0.1 localhost", *addresses]),
        # With a slot each, ranks go round the nodes until all have theirs.
        MPICH_HOSTS: lines(f"{host}:{1 if layout.distribution == CYCLIC else layout.ranks_per_node}" for host in names),
        OPEN_MPI_HOSTS: lines(f"{host} slots={layout.ranks_per_node}" for host in names),
    }


def lines(texts: Iterable[str]) -> str:
    """Return the texts as lines."""
    return "".join(f"{text}\n" for text in texts)


def environment(outside: Mapping[str, str], distribution: str = "block") -> dict[str, str]:
    """Return the variables of the lab's programs: those from outside, without what other launchers left."""
    kept = {key: value for key, value in outside.items() if not key.startswith(BATCH_SYSTEMS + LAUNCHERS)}
    return kept | {
        "PATH": search_path(outside.get("PATH", "")),
        **MPICH,
        **OPEN_MPI,
        **(OPEN_MPI_CYCLIC if distribution == CYCLIC else {}),
    }


def search_path(outside: str) -> str:
    """Return the PATH with this Python's own mpiexec and, for ordinary users, with the folders of ip and tc."""
    folders = list(filter(None, outside.split(os.pathsep)))
    own = os.path.dirname(sys.executable)
    return os.pathsep.join(dict.fromkeys(([] if own in folders else [own]) + [*folders, *SYSTEM_PROGRAMS]))


MPICH = {
    "HYDRA_HOST_FILE": str(MPICH_HOSTS),
    "HYDRA_LAUNCHER": "ssh",
    "HYDRA_LAUNCHER_EXEC": str(AGENT),
    "HYDRA_LAUNCHER_AUTOFORK": "0",  # the daemon of node 1 has an agent as well
    "HYDRA_BINDING": "none",
    "HWLOC_XMLFILE": "",  # unset, every daemon writes a file to /tmp for its ranks, and leaves it there when killed
    "UCX_TLS": "tcp,self",  # else all nodes are one machine to UCX
    "FI_PROVIDER": "tcp",
}
# Every node believes that it has all of the machine's cores, so none may bind its ranks to the first of them.
# By slot: else --oversubscribe starts all ranks on the first node.
OPEN_MPI = {
    "PRTE_MCA_prte_default_hostfile": str(OPEN_MPI_HOSTS),
    "PRTE_MCA_plm_ssh_agent": str(AGENT),
    "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",
    "OMPI_MCA_orte_default_hostfile": str(OPEN_MPI_HOSTS),  # up to version 4
    "OMPI_MCA_plm_rsh_agent": str(AGENT),
    "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_mapping_policy": "slot",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # for the nodes share them
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "tcp,self",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",  # in a user namespace everybody is
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
OPEN_MPI_CYCLIC = {
    "PRTE_MCA_rmaps_default_mapping_policy": "node:oversubscribe",
    "OMPI_MCA_rmaps_base_mapping_policy": "node",
}
