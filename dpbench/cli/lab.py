"""`dpbench lab`: a cluster on this machine, and a command that runs in it."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from dpbench import units
from dpbench.cli import names, values
from dpbench.cli.options import option
from dpbench.cli.speak import help_option
from dpbench.environment import launched, rank_variables
from dpbench.errors import UsageError
from dpbench.lab.layout import MOST, Layout

TEXTS = ("-h", "--help", "--version")  # options that ask for no measurement


MEASURE = ("run", "step")  # the commands that take all ranks


class Count(values.Whole):
    """A number of nodes, or of ranks on one of them."""

    MOST = MOST


class Rate(values.Value):
    """A rate, in bytes per second."""

    def parse(self, text: str) -> float:
        """Return the bytes per second."""
        return units.parse_rate(text)


def start(slow: Iterable[tuple[int, float]], words: Sequence[str], **given: Any) -> int:
    """Lay out the lab, run what was asked for and return its exit code."""
    from dpbench.lab.outside import run

    if launched():
        why = ", ".join(rank_variables())
        raise UsageError(f"lab: a launcher has started this process ({why} is set); a lab starts its own ranks")
    layout = Layout(slow=dict(slow), **given)
    return run(layout, program(words, layout.ranks))


def program(words: Sequence[str], ranks: int) -> list[str]:
    """Return the program that `words` mean: dpbench on all ranks, another dpbench command, or any other program."""
    from dpbench.cli.commands import COMMANDS
    from dpbench.lab.launching import environment

    first, *rest = words or ["run"]
    me = [sys.executable, "-m", "dpbench"]
    if first in MEASURE:
        return [*me, first, "--ranks", str(ranks), *rest]
    if first in TEXTS or first in COMMANDS:
        return [*me, first, *rest]
    if first.startswith("-"):
        return [*me, "run", "--ranks", str(ranks), first, *rest]
    if not shutil.which(first, path=environment(os.environ)["PATH"]):
        commands = ", ".join(COMMANDS)
        raise UsageError(f"{first!r} is neither a dpbench command ({commands}) nor a program on PATH")
    return [first, *rest]


OPTIONS: list[click.Parameter] = [
    option("--nodes", type=Count("N", 1), default=4, help="Nodes, n1 to nN."),
    option("--rate", type=Rate("RATE"), default="200mbit", help="Of every node's link, each way."),
    option(
        "--slow",
        type=values.Numbered("NODE:RATE", units.parse_rate, "3:20mbit"),
        multiple=True,
        help="Another rate for one node; repeatable.",
    ),
    option("--ranks-per-node", type=Count("R", 1), default=1, help="Ranks on every node."),
    option(
        "--distribution",
        type=names.Word("block", "cyclic"),
        default="block",
        help="Of ranks: node after node, or one for each node in turn.",
    ),
    help_option(),
    click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, metavar="COMMAND"),
]

lab = click.Command(
    "lab",
    short_help="Lay out a cluster on this machine; run in it.",
    help="Lay out a cluster on this Linux machine, run a command in it, and leave nothing behind: nodes with a "
    "network and a host name of their own, each on a link of a chosen rate to a switch."
    "\n\n\b\n"
    "  dpbench lab --nodes 8 --rate 100mbit -- run -s ps,ring\n"
    "  dpbench lab --slow 3:20mbit -- -s ring --sizes 1M\n"
    "  dpbench lab -- bash        a look around: mpiexec -n 4 reaches all nodes"
    "\n\nWhat follows -- is a dpbench command, or any other program, which runs on node n1.",
    callback=start,
    params=OPTIONS,
    add_help_option=False,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] --",
)
