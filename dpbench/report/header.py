"""What a person needs to trust the tables, above them."""

from collections.abc import Iterator, Sequence

from dpbench.results.facts import RunFacts
from dpbench.results.link import Link
from dpbench.results.record import STREAMING
from dpbench.units import time_text

HOSTS_SHOWN = 4
PLACES_SHOWN = 16  #: of a ring


def header(facts: RunFacts, *, has_parts: bool = False) -> Iterator[str]:
    """Yield the lines about the run, for `Screen.print`; their number does not grow with the ranks."""
    yield f"dpbench {facts.version}, started {facts.started_at}"
    yield f"command\t{facts.command}"
    yield f"MPI\t{facts.mpi_library}, thread level {facts.thread_level}"
    yield f"ranks\t{ranks(facts)}"
    yield from ring(facts)
    yield f"gradient\t{facts.dtype} on {', '.join(facts.scopes)}, seed {facts.seed}"
    if facts.cadence == STREAMING:
        yield "cadence\tstreaming: a sample is up to 20 exchanges back to back after a barrier, not one"
    yield from (f"note\t{note}" for note in facts.notes)
    if entered_again(facts):
        yield (
            f"note\tthe ring crosses nodes in {facts.crossings} hops, where {len(facts.hosts)} would do: leave out "
            "--ring-order world, or number"
        )
        yield "\tthe ranks node by node (mpirun --map-by slot, mpiexec -ppn N, srun --distribution=block)"
    if has_parts:
        yield ""


def group(facts: RunFacts, *, is_part: bool = False, quiet: bool = False) -> Iterator[str]:
    """Yield the lines about the ranks whose tables follow: what they measured first and, of a part, who they are."""
    if is_part:
        yield ranks(facts, "ranks ")
        yield from ring(facts)
    if not quiet:
        yield from measured(facts)
    if is_part or not quiet:
        yield ""


def measured(facts: RunFacts) -> Iterator[str]:
    """Yield the lines about what was measured before anything else."""
    if facts.floor_s is not None:
        floor = time_text(facts.floor_s)
        yield f"floor\t{floor}: an exchange of nothing, timed in the same way"
    for device, link in facts.links.items():
        yield f"link\t{describe(link)}{f' ({device})' if len(facts.links) > 1 else ''}"
        yield from (f"\tslow: {pair}" for pair in link.slow_pairs)


def ranks(facts: RunFacts, noun: str = "") -> str:
    """Return how many ranks are on how many nodes, and the first of these."""
    nodes = count(len(facts.hosts), "node")
    least, most = min(facts.per_node, default=1), max(facts.per_node, default=1)
    each = f" × {least}" if least == most else f" × {least} to {most}"
    return f"{facts.ranks} {noun}on {nodes}{each if facts.ranks > len(facts.hosts) > 1 else ''}: {some(facts.hosts)}"


def ring(facts: RunFacts) -> Iterator[str]:
    """Yield how often the ring goes from node to node, if there are several."""
    if facts.crossings:
        yield f"ring\t{facts.crossings} of {count(facts.ranks, 'hop')} from node to node{order(facts.ring)}"


def order(ring: Sequence[int]) -> str:
    """Return the ranks of a ring, the first of many; nothing where they follow their numbers."""
    if list(ring) == sorted(ring):
        return ""
    more = " …" if len(ring) > PLACES_SHOWN else ""
    return f": ranks {' '.join(map(str, ring[:PLACES_SHOWN]))}{more}"


def entered_again(facts: RunFacts) -> bool:
    """Return whether the ring comes back to a node that it has left."""
    return facts.crossings > len(facts.hosts)


def describe(link: Link) -> str:
    """Return the figures of the links, in a line."""
    latency = time_text(link.latency_s)
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
