"""What a person needs to trust the tables, above them."""

from collections.abc import Iterator

from dpbench.results.facts import RunFacts
from dpbench.results.link import Link
from dpbench.results.record import STREAMING
from dpbench.units import format_time

HOSTS_SHOWN = 4


def header(facts: RunFacts) -> Iterator[str]:
    """Yield the lines above the tables, for `Screen.print`; their number does not grow with the ranks."""
    yield f"dpbench {facts.version}, started {facts.started_at}"
    yield f"command\t{facts.command}"
    yield f"MPI\t{facts.mpi_library}, thread level {facts.thread_level}"
    yield f"ranks\t{facts.ranks} on {count(len(facts.hosts), 'node')}: {some(facts.hosts)}"
    yield f"gradient\t{facts.dtype} on {', '.join(facts.scopes)}, seed {facts.seed}"
    if facts.cadence == STREAMING:
        yield "cadence\tstreaming: a sample is up to 20 exchanges back to back after a barrier, not one"
    floor = format_time(facts.floor_s).replace("us", "µs")
    yield f"floor\t{floor}: an exchange of nothing, timed in the same way"
    for device, link in facts.links.items():
        yield f"link\t{describe(link)}{f' ({device})' if len(facts.links) > 1 else ''}"
        yield from (f"\tslow: {pair}" for pair in link.slow_pairs)
    yield from (f"note\t{note}" for note in facts.notes)
    yield ""


def describe(link: Link) -> str:
    """Return the figures of the links, in a line."""
    latency = format_time(link.latency_s).replace("us", "µs")
    return (
        f"{rate(link.rank)} each way, both directions at once ({rate(link.one_way)} one way); a node "
        f"{rate(link.node)}; {latency}; addition {rate(link.addition)}"
    )


def rate(bytes_per_s: float) -> str:
    """Return a rate in MB/s or GB/s."""
    return f"{bytes_per_s / 1e9:.3g} GB/s" if bytes_per_s >= 1e9 else f"{bytes_per_s / 1e6:.3g} MB/s"


def some(names: tuple[str, ...]) -> str:
    """Return the first few names, and how many more there are."""
    more = len(names) - HOSTS_SHOWN
    return ", ".join(names[:HOSTS_SHOWN]) + (f" … and {more} more" if more > 0 else "")


def count(number: int, noun: str) -> str:
    """Return "1 node" or "2 nodes"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
