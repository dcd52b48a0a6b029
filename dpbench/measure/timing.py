"""The timed loop."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter_ns

from dpbench.engine.exchange import Exchange
from dpbench.engine.recording import Recorder
from dpbench.engine.steps import in_turn
from dpbench.engine.where import Where

LATE, COMPUTE = "late", "compute"  #: the phases of a straggler, and of a training step's workers

Run = Callable[[], None]


def timed(
    exchange: Exchange,
    barrier: Callable[[], None],
    iterations: int,
    where: Where | None = None,
    starts: list[int] | None = None,
) -> list[int]:
    """Return this rank's time of each of `iterations` exchanges, in nanoseconds.

    Before each a barrier that is not timed (as in ReproMPI; Hoefler & Belli, SC15, section 4.2.1); nothing is
    allocated, printed or decided between the two clock readings. A recorder is told of both. Where this rank
    is gets noted in `where`, and the first reading of each in `starts`.
    """
    where = where or Where()
    run, restore, recorder = exchange.run, exchange.restore, exchange.recorder
    times = []
    for _ in range(iterations):
        if restore is not None:
            restore()
        where.iteration += 1
        where.state = "barrier"
        barrier()
        where.state = "exchange"
        start = perf_counter_ns()
        run()
        end = perf_counter_ns()
        where.state = "elsewhere"
        times.append(end - start)
        if starts is not None:
            starts.append(start)
        if recorder is not None:
            recorder.close(start, end)
    return times


def ahead(run: Run, phase: str, call: Run, recorder: Recorder | None) -> Run:
    """Return a call that first makes `call`, as a phase of its own, and then runs."""
    return partial(in_turn, recorder.leading(phase, call) if recorder else call, run)


def busy(seconds: float) -> None:
    """Keep the core busy for so long, as a worker that computes its gradient."""
    end = perf_counter_ns() + round(seconds * 1e9)
    while perf_counter_ns() < end:
        pass


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect now, and not again until the end: a collection would land in some rank's sample."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
