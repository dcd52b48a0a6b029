"""What a person needs to trust the tables, above them."""

from collections.abc import Iterator
from dataclasses import dataclass

from dpbench.units import format_time

HOSTS_SHOWN = 4


@dataclass(frozen=True)
class RunFacts:
    """The facts of a run that all of its rows share."""

    version: str
    command: str
    started_at: str  #: UTC, ISO 8601
    mpi_library: str  #: as the library names itself; only the first line is shown
    thread_level: str
    ranks: int
    hosts: tuple[str, ...]  #: the distinct nodes, in the order of their first ranks
    device: str
    dtype: str
    seed: int
    floor_s: float | None = None  #: what an exchange of nothing takes, timed in the same way
    notes: tuple[str, ...] = ()  #: what was adjusted and the user should read


def header(facts: RunFacts) -> Iterator[str]:
    """Yield the lines above the tables, for `Screen.print`; their number does not grow with the ranks."""
    library = facts.mpi_library.strip("\0 \n").partition("\n")[0].strip()
    yield f"dpbench {facts.version}, started {facts.started_at}"
    yield f"command\t{facts.command}"
    yield f"MPI\t{library}, thread level {facts.thread_level}"
    yield f"ranks\t{facts.ranks} on {count(len(facts.hosts), 'node')}: {some(facts.hosts)}"
    yield f"gradient\t{facts.dtype} on {facts.device}, seed {facts.seed}"
    if facts.floor_s is not None:
        floor = format_time(facts.floor_s).replace("us", "µs")
        yield f"floor\t{floor}: an exchange of nothing, timed in the same way"
    yield from (f"note\t{note}" for note in facts.notes)
    yield ""


def some(names: tuple[str, ...]) -> str:
    """Return the first few names, and how many more there are."""
    more = len(names) - HOSTS_SHOWN
    return ", ".join(names[:HOSTS_SHOWN]) + (f" … and {more} more" if more > 0 else "")


def count(number: int, noun: str) -> str:
    """Return "1 node" or "2 nodes"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
