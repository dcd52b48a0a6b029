"""What one rank finds out and all ranks must act on."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dpbench.engine.hosts import host_name
from dpbench.errors import DpbenchError, Unsuitable, UsageError

if TYPE_CHECKING:
    from dpbench.engine.world import World

T = TypeVar("T")


class SaidByRoot(DpbenchError):
    """An error that rank 0 reports; the other ranks only leave with its exit code."""

    agreed = True

    def __init__(self, code: int) -> None:
        super().__init__("")
        self.code = code


def said_by_root(world: "World", error: DpbenchError) -> DpbenchError:
    """Return what each rank should raise for an error that all ranks have found: only rank 0's has a message."""
    error.agreed = True
    return error if world.rank == 0 else SaidByRoot(error.code)


def require_no_mistake(mistake: str = "") -> None:
    """Raise UsageError, on every rank, if any rank has found a mistake in its own command line. Starts MPI.

    Collective, and the first of all that is: who made a mistake comes as far as here, and no further.
    """
    from dpbench.engine.mpi import everybodys

    me, told = everybodys((host_name(), mistake))
    made = [(rank, host, text) for rank, (host, text) in enumerate(told) if text]
    if made:
        rank, host, text = made[0]
        error = UsageError(text if len(made) == len(told) else f"rank {rank} on {host}: {text}")
        error.agreed = True
        raise error if me == 0 else SaidByRoot(error.code)


def on_root(world: "World", action: Callable[[], T]) -> T:
    """Return on every rank what `action` returns on rank 0; if it raises a DpbenchError, every rank raises."""
    result: T | None = None
    error: DpbenchError | None = None
    if world.rank == 0:
        try:
            result = action()
        except DpbenchError as caught:
            error = caught
    code, shared = world.from_root((error.code if error else None, result))
    if code is not None:
        raise said_by_root(world, error or SaidByRoot(code))
    outcome: T = shared
    return outcome


def in_part(world: "World", part: "World | None", action: Callable[["World"], T]) -> T:
    """Return on every rank what `action` returns on rank 0, which is in the part; the ranks outside of it sleep.

    An error that the ranks of the part have agreed on is raised by all.
    """
    if part is world:
        return action(world)
    result: T | None = None
    error: DpbenchError | None = None
    if part is not None:
        try:
            result = action(part)
        except DpbenchError as caught:
            if not caught.agreed:
                raise
            error = caught
    world.meet()
    code, shared = world.from_root((error.code if error else None, result))
    if code is not None:
        raise error or SaidByRoot(code)
    outcome: T = shared
    return outcome


def all_or_none(world: "World", action: Callable[[], T], undo: Callable[[T], None] = lambda _: None) -> T:
    """Return what `action` returns on this rank, if it works on every rank; else undo it and raise Unsuitable."""
    result: T | None = None
    reason: str | None = None
    try:
        result = action()
    except Unsuitable as caught:
        reason = str(caught)
    reasons = [(rank, each) for rank, each in enumerate(world.gather(reason)) if each is not None]
    if reasons:
        if result is not None:
            undo(result)
        rank, text = reasons[0]
        raise Unsuitable(text if len(reasons) == world.size else f"rank {world.numbers[rank]}: {text}")
    return result  # type: ignore[return-value]  # no rank has a reason, so it was set
