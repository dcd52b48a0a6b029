"""`dpbench show`: the schedule of a strategy, drawn as on a board."""

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dpbench.cli import names, values
from dpbench.cli.options import flag, option
from dpbench.cli.speak import help_option
from dpbench.environment import speaks
from dpbench.errors import Exit, Unsuitable, UsageError

if TYPE_CHECKING:
    from dpbench.report.drawing import Lines
    from dpbench.schedule.draw import Drawing
    from dpbench.strategies.base import Roles, Scheduled

MOST_RANKS = 2**16
MOST_MESSAGES = 50_000  #: that are played: a second or two
FAULTS_SHOWN = 5


class StrategyName(values.Value):
    """The name of one strategy."""

    def parse(self, text: str) -> str:
        """Return the name; it must be known."""
        from dpbench.strategies.registry import strategies

        return names.known(text, strategies(), "strategy")


def start(name: str, *, ranks: int, servers: int | None, dedicated: bool, path: str | None, force: bool) -> int:
    """Draw the schedule as text and, if there is a path, as a picture; return the exit code."""
    check_path(path, force)
    strategy = scheduled(name)
    roles = roles_of(strategy, ranks, servers, dedicated)
    if not speaks():
        return Exit.OK
    from dpbench.report.console import err, out

    drawing = drawn(strategy, roles)
    if path is not None:
        save_picture(name, drawing, path, force)
    screen = out(path)
    for line in text(strategy, roles, drawing, screen.width):
        screen.print(line)
    for note in ignored(name, roles, servers, dedicated):
        screen.print(note)
    faults = drawing.faults if drawing else ()
    for fault in faults[:FAULTS_SHOWN]:
        err().print(f"dpbench: {name} is wrong: {fault}")
    return Exit.WRONG if faults else Exit.OK


def scheduled(name: str) -> "Scheduled":
    """Return the strategy; raises UsageError if it has no schedule."""
    from dpbench.strategies.base import Scheduled
    from dpbench.strategies.registry import strategies

    strategy = strategies()[name]
    if not isinstance(strategy, Scheduled):
        others = ", ".join(name for name, one in strategies().items() if isinstance(one, Scheduled))
        raise UsageError(f"{name} is one call of a library: it has no schedule; these have one: {others}")
    return strategy


def roles_of(strategy: "Scheduled", ranks: int, servers: int | None, dedicated: bool) -> "Roles":
    """Return who works and who serves; raises UsageError if so many ranks cannot."""
    from dpbench.measure.plan import check_servers

    check_servers(servers, dedicated, ranks)
    try:
        return strategy.roles(ranks, servers, dedicated)
    except Unsuitable as reason:
        raise UsageError(f"{strategy.name} on {ranks} ranks: {reason}") from reason


def ignored(name: str, roles: "Roles", servers: int | None, dedicated: bool) -> Iterator[str]:
    """Yield a note for each option that means nothing to the strategy."""
    if servers and servers != len(roles.servers):
        yield f"note\t--servers {servers} means nothing to {name}"
    if dedicated and not roles.dedicated:
        yield f"note\t--dedicated-servers means nothing to {name}"


def drawn(strategy: "Scheduled", roles: "Roles") -> "Drawing | None":
    """Return the drawing, with as few elements as make all chunks equal; None if there is too much to play."""
    from dpbench.schedule.draw import draw, plan_within

    count = elements(strategy, roles)
    plan = plan_within(lambda rank: strategy.rounds(rank, roles, 0, count), roles.ranks, MOST_MESSAGES)
    return draw(plan, count, roles.workers, roles.servers) if plan else None


def elements(strategy: "Scheduled", roles: "Roles") -> int:
    """Return the fewest elements that can be cut for the messages of a slice, and for the ranks, without a rest."""
    return math.lcm(strategy.pieces(roles), roles.ranks)


def text(strategy: "Scheduled", roles: "Roles", drawing: "Drawing | None", width: int) -> "Lines":
    """Return the text: the rounds, or what can be counted of very many messages."""
    from dpbench.report.drawing import counts_of, text_of
    from dpbench.schedule.count import traffic

    if drawing:
        return text_of(strategy.name, drawing, width)
    count = elements(strategy, roles)
    some = sorted({0, 1, *roles.servers[-1:], roles.workers.start, roles.ranks - 1})
    phases = {rank: traffic(strategy.rounds(rank, roles, 0, count), itemsize=1) for rank in some}
    return counts_of(strategy.name, roles.workers, roles.servers, count, phases)


def save_picture(name: str, drawing: "Drawing | None", path: str, force: bool) -> None:
    """Write the picture; raises UsageError if it would be too large."""
    from dpbench.report.picture import MOST_CELLS, cells, svg
    from dpbench.results.outfile import save

    if drawing is None or cells(drawing) > MOST_CELLS:
        most = f"more than {MOST_CELLS} chunks of all ranks and rounds"
        raise UsageError(f"-o {path}: so large a picture is of no use, {most}; lower --ranks")
    save(svg(name, drawing), path, "-o", f"{name}.svg", force=force)


def check_path(path: str | None, force: bool) -> None:
    """Raise UsageError unless -o and --force fit together and the path can be that of an SVG."""
    if path == "":
        raise UsageError("-o '' names no file; give a path, or - for stdout")
    if force and path in (None, "-"):
        raise UsageError("--force needs a file; add -o FILE.svg")
    if path and os.path.splitext(path)[1].lower() not in ("", ".svg"):
        raise UsageError(f"-o {path}: pictures are SVG; name it {os.path.splitext(path)[0]}.svg")


OPTIONS: list[click.Parameter] = [
    click.Argument(["name"], type=StrategyName("STRATEGY"), metavar="STRATEGY"),
    option("--ranks", type=values.Whole("N", 1, most=MOST_RANKS), default=4, help="Ranks that take part."),
    option("--servers", type=values.Whole("K", 1), help="Servers of sharded-ps.  [default: every rank]"),
    flag("--dedicated-servers", "dedicated", about="Servers only serve; they have no gradient."),
    option("-o", "--output", "path", metavar="FILE.svg", help="Also draw a picture for slides; - is stdout."),
    flag("--force", about="Overwrite FILE.svg."),
    help_option(),
]

show = click.Command(
    "show",
    short_help="Draw the schedule of a strategy: who sends what to whom.",
    help="Draw the schedule of a strategy, as on a board: round by round, who sends which chunk to whom, and what "
    "every rank then holds. It is drawn as the textbook tells it, in one slice. Nothing is sent, no MPI is needed."
    "\n\n\b\n"
    "  dpbench show ring\n"
    "  dpbench show sharded-ps --ranks 6 --servers 2 --dedicated-servers\n"
    "  dpbench show ring --ranks 3 -o ring.svg",
    callback=start,
    params=OPTIONS,
    add_help_option=False,
    options_metavar="[OPTIONS]",
)
