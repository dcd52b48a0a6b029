"""Facts that a JSON document tells about the circumstances of its run, as texts that can be compared.

Whatever is missing, or is not as expected, is left out.
"""

import re
from collections.abc import Iterable
from typing import Any

from dpbench.text import printable

OF_A_NODE = {"system": ("system",), "glibc": ("glibc",), "python": ("python",), "cpu": ("cpu", "model")}
OF_ONE_RUN = re.compile(r"RANK|_FD$|PID$|(?<!E)ID$|PORT|HOST|NODE|NAMESPACE|URI|ADDR|TIME|COMMAND|DIR$|FILE$")
VARIABLE = "$"  #: begins the names of the facts that are environment variables


def circumstances(document: dict[str, Any]) -> dict[str, str]:
    """Return the facts, by name."""
    environment = within(document, "environment")
    nodes = [node for node in listed(within(environment, "nodes")) if isinstance(node, dict)]
    facts = {name: distinct(within(node, *path) for node in nodes) for name, path in OF_A_NODE.items()}
    names = dict.fromkeys(name for node in nodes for name in objects(within(node, "variables")))
    for name in (name for name in names if not OF_ONE_RUN.search(name)):
        facts[VARIABLE + name] = distinct(within(node, "variables", name) for node in nodes)
    ranks = listed(within(environment, "ranks"))
    facts["gpu"] = distinct(within(rank, "gpu") for rank in ranks)
    hosts = [within(rank, "host") for rank in ranks]
    if hosts and all(isinstance(host, str) for host in hosts):
        facts |= {"hosts": distinct(hosts), **placement(hosts, listed(within(document, "run", "ring")))}
    return {printable(name): printable(fact) for name, fact in facts.items() if fact}


def placement(hosts: list[str], ring: list[Any]) -> dict[str, str]:
    """Return which ranks share a node, and which nodes a ring goes through: between nodes it crosses the network."""
    number = {host: f"n{index}" for index, host in enumerate(dict.fromkeys(hosts), start=1)}
    nodes = [number[host] for host in hosts]
    places = [rank for rank in ring if isinstance(rank, int) and 0 <= rank < len(nodes)]
    way = [nodes[rank] for rank in places] if len(places) == len(nodes) else nodes  # else it is not told
    apart = sum(way[place - 1] != node for place, node in enumerate(way))
    order = f"{apart} of {len(way)} ring neighbours on different nodes: {' '.join(way)}"
    return {"placement": " ".join(nodes), "ring": order}


def objects(value: Any) -> dict[str, Any]:
    """Return an object, empty if it is none."""
    return value if isinstance(value, dict) else {}


def distinct(values: Iterable[Any]) -> str:
    """Return the texts and numbers among the values, each once."""
    return ", ".join(dict.fromkeys(str(value) for value in values if isinstance(value, str | int | float)))


def listed(value: Any) -> list[Any]:
    """Return a list, empty if it is none."""
    return value if isinstance(value, list) else []


def within(value: Any, *path: str) -> Any:
    """Return what lies in nested objects under these names, None if there is nothing."""
    for name in path:
        value = objects(value).get(name)
    return value
