"""In a lab: what the kernel counted on the nodes' links while a strategy exchanged: `counters.py STRATEGY SIZE NODES`.

Prints the bytes that each node sent, by the kernel's count, and the total that dpbench counted.
"""

import csv
import json
import subprocess
import sys

EXCHANGES = 5
LINK = "/sys/class/net/eth0/statistics/tx_bytes"


def sent(nodes: int) -> list[int]:
    """Return the bytes that each node's link has sent so far."""
    read = [["/dev/shm/enter", f"n{node + 1}", "cat", LINK] for node in range(nodes)]
    return [int(subprocess.run(one, capture_output=True, text=True, check=True).stdout) for one in read]


def main(strategy: str, size: str, nodes: int) -> None:
    """Exchange, and count."""
    run = ["run", "-s", strategy, "--sizes", size, "-w", "0", "-n", str(EXCHANGES), "--calibrate", "0", "--csv", "-"]
    command = ["mpiexec", "-n", str(nodes), sys.executable, "-m", "dpbench", *run]
    before = sent(nodes)
    job = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    kernel = [now - then for now, then in zip(sent(nodes), before, strict=True)]
    row = next(csv.DictReader(job.stdout.splitlines()))
    exchanges = EXCHANGES + 1  # one to verify the result
    print(json.dumps({"kernel": kernel, "counted": int(row["total_bytes"]) * exchanges, "exchanges": exchanges}))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
