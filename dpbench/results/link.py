"""What the wire allows, as measured in the same job, and the time that no exchange can beat there."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """The links between nodes. Rates in bytes a second, times in seconds."""

    latency_s: float  #: of one empty message to another node
    one_way: float  #: what one rank sends while it receives nothing
    rank: float  #: B_rank: what one rank sends while it receives as much, one rank of each node active
    node: float  #: B_node: what a node sends while it receives as much, all of its ranks active
    addition: float  #: bytes of result that one rank adds in a second
    slow_pairs: tuple[str, ...] = ()  #: those well below the median, with both hosts and their rate


@dataclass(frozen=True)
class Load:
    """What one exchange puts on the busiest port, node and adder. Bytes."""

    rank: int  #: through the busier direction of a rank's port, to and from other nodes
    node: int  #: through the busier direction of a node's port
    added: int  #: of results that one rank adds


def limit_s(load: Load, link: Link) -> float:
    """Return the time that the links need for the busiest rank and the busiest node: no exchange is faster.

    Ports carry both directions at once; all phases are taken to overlap perfectly (as Patarasuk & Yuan 2009 bound
    the all-reduce).
    """
    return max(load.rank / link.rank, load.node / link.node)


def addition_s(load: Load, link: Link) -> float:
    """Return the time that the busiest rank needs for its additions alone."""
    return load.added / link.addition
