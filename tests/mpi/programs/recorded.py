"""dpbench, watched and with a fault: `recorded.py FOLDER FAULT STRATEGY ARGS...`.

Each rank leaves FOLDER/RANK.json: its exit code, how often each strategy exchanged, in which order, how often it
opened a file called `*.csv`, and the most memory it had, in bytes, by the first exchange and in the end. The fault
befalls STRATEGY on the last rank only, or `crowded` everybody, or `poor` the last rank with 1 MB of memory left.
"""

import json
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from dpbench.cli import main
from dpbench.engine import world
from dpbench.engine.build import Engine
from dpbench.engine.exchange import Exchange
from dpbench.engine.limits import numbers
from dpbench.measure import memory

FOLDER, FAULT, STRATEGY, *ARGS = sys.argv[1:]

DELAY_S = {"late": 0.05, "slow": 0.002}
SPOILED = {"wrong": 0.5, "nan": float("nan"), "inf": float("inf")}

exchanges: Counter[str] = Counter()
order: list[str] = []
opened: list[str] = []
peaks: list[int] = []
build = Engine.build


def peak() -> int:
    """Return the most memory that this process has had."""
    return numbers(Path("/proc/self/status"), unit=1024).get("VmHWM", 0)


def built(self: Engine, strategy: Any, roles: Any, shape: Any, buffers: Any) -> Exchange:
    """Build the exchange and have its runs recorded, and spoiled where the fault says so."""
    exchange = build(self, strategy, roles, shape, buffers)
    hit = strategy.name == STRATEGY and self.rank == roles.ranks - 1
    result = buffers.weights or buffers.output
    exchange.run = partial(watched, exchange.run, strategy.name, result if hit else None)
    return exchange


def watched(run: Any, name: str, output: Any) -> None:
    """Exchange; `output` is None where nothing is to go wrong."""
    exchanges[name] += 1
    peaks[:] = peaks or [peak()]
    if order[-1:] != [name]:
        order.append(name)
    if output is not None and FAULT in DELAY_S:
        time.sleep(DELAY_S[FAULT])
    run()
    if output is not None and FAULT in SPOILED:
        output.array[-1] = SPOILED[FAULT]


def audit(event: str, args: tuple[Any, ...]) -> None:
    """Note what is opened."""
    if event == "open" and str(args[0]).endswith(".csv"):
        opened.append(str(args[0]))


sys.addaudithook(audit)
Engine.build = built  # type: ignore[method-assign]
if FAULT == "crowded":
    world.allowed_cores = lambda: {0}
if FAULT == "poor":
    memory.memory_left = lambda: {} if world.MPI.COMM_WORLD.rank < world.MPI.COMM_WORLD.size - 1 else {"": 10**6}
code = main(ARGS)
rank = world.MPI.COMM_WORLD.rank
record = {"code": code, "exchanges": exchanges, "order": order, "opened": len(opened), "peaks": [*peaks, peak()]}
Path(FOLDER, f"{rank}.json").write_text(json.dumps(record))
sys.exit(code)
