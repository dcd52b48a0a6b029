"""What a lab looks like: its nodes, their names and addresses, and the rates of their links."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from dpbench.errors import UsageError

MOST = 64  #: nodes, and ranks on one of them
SLOWEST, FASTEST = 1e6 / 8, 100e9 / 8  #: bytes/s: slower, MPI takes minutes to start; faster, tc cannot count

BURST_S = 5e-3  # of the rate: with less, a busy machine's timers cannot keep a link full
LEAST_BURST = 70_000  # bytes: above the 64 KiB that TCP hands to a link at once; less, and tc cuts that up, slowly

NETWORK = "10.77.0.0/24"


@dataclass(frozen=True)
class Layout:
    """The nodes, numbered from 1, and their links. Raises UsageError for a node or rate that cannot be."""

    nodes: int
    rate: float  #: of each link, each way [bytes/s]
    slow: Mapping[int, float] = field(default_factory=dict)  #: other rates, by node
    ranks_per_node: int = 1
    distribution: str = "block"  #: of ranks: node after node, or `cyclic`, one for each node in turn

    def __post_init__(self) -> None:
        for node in self.slow:
            if not 1 <= node <= self.nodes:
                raise UsageError(f"--slow {node}: there is no such node; they are 1 to {self.nodes}")
        for rate in (self.rate, *self.slow.values()):
            if not SLOWEST <= rate <= FASTEST:
                allowed = f"from {format_rate(SLOWEST)} to {format_rate(FASTEST)}"
                raise UsageError(f"a link of {format_rate(rate)} is not possible: {allowed}")

    @property
    def numbers(self) -> range:
        """The nodes' numbers."""
        return range(1, self.nodes + 1)

    @property
    def ranks(self) -> int:
        """How many ranks the nodes have room for."""
        return self.nodes * self.ranks_per_node

    def rate_of(self, node: int) -> float:
        """Return the rate of a node's link [bytes/s]."""
        return self.slow.get(node, self.rate)

    def burst_of(self, node: int) -> int:
        """Return how many bytes pass a node's link at once after a pause."""
        return max(LEAST_BURST, round(self.rate_of(node) * BURST_S))

    def describe(self) -> str:
        """Return one line for people, with the size from which on the links are the limit."""
        others = "".join(f", {name(node)} {format_rate(rate)}" for node, rate in sorted(self.slow.items()))
        burst = max(map(self.burst_of, self.numbers))
        return (
            f"lab: {self.nodes} node{'s' * (self.nodes > 1)}, {format_rate(self.rate)} each way{others}; after a "
            f"pause {burst // 1000} kB pass at once: the link is not the limit of smaller messages"
        )

    def to_json(self) -> str:
        """Return the layout as text, for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Layout":
        """Return the layout that `to_json` wrote."""
        fields = json.loads(text)
        return cls(**fields | {"slow": {int(node): rate for node, rate in fields["slow"].items()}})


def name(node: int) -> str:
    """Return a node's host name."""
    return f"n{node}"


def address(node: int) -> str:
    """Return a node's address."""
    return f"10.77.0.{node}"


def format_rate(rate: float) -> str:
    """Return bytes per second as the bits per second that links are named by."""
    bits = rate * 8
    return f"{bits / 1e9:g} Gbit/s" if bits >= 1e9 else f"{bits / 1e6:g} Mbit/s"
