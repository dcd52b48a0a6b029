"""dpbench whose last rank fails alone, after MPI has started: `fault.py KIND ARGUMENTS...`."""

import sys

from dpbench.cli import main
from dpbench.errors import PlatformError
from dpbench.measure.bench import Bench

KINDS: dict[str, BaseException] = {
    "bug": RuntimeError("planted"),
    "memory": MemoryError("planted"),
    "platform": PlatformError("planted"),
    "disk": OSError(28, "No space left on device"),
    "interrupt": KeyboardInterrupt(),
}

warm_up = Bench.warm_up


def fail(bench: Bench, *arguments: object) -> None:
    """Fail on the last rank; warm up on the others."""
    if bench.world.rank == bench.world.size - 1:
        raise KINDS[sys.argv[1]]
    return warm_up(bench, *arguments)  # type: ignore[arg-type]


Bench.warm_up = fail  # type: ignore[method-assign, assignment]
sys.exit(main(sys.argv[2:]))
