"""`dpbench compare`: two sets of launches, row by row."""

from fractions import Fraction
from typing import Any

import click

from dpbench import units
from dpbench.cli import values
from dpbench.cli.options import flag, option
from dpbench.cli.speak import help_option
from dpbench.environment import speaks
from dpbench.errors import Exit, GotWorse, NothingComparable, UsageError


class Share(values.Value):
    """A part of a whole."""

    def parse(self, text: str) -> Fraction:
        """Return the share, exactly."""
        return units.parse_share(text)


def start(files: tuple[str, ...], base: tuple[str, ...], new: tuple[str, ...], **rule: Any) -> int:
    """Compare, print, and return the exit code."""
    from dpbench.results.compare import Rule
    from dpbench.results.compare import compare as judge
    from dpbench.results.pairs import Side
    from dpbench.results.reading import read

    if len(files) not in (0, 2):
        raise UsageError(f"compare takes two files, BASE and NEW, not {len(files)}; give more with --base and --new")
    base, new = (*files[:1], *base), (*files[1:], *new)
    if not base or not new:
        raise UsageError("compare needs a file on each side: dpbench compare BASE NEW, or --base FILE and --new FILE")
    before, after = (Side(name, [read(path) for path in paths]) for name, paths in (("BASE", base), ("NEW", new)))
    found = judge(before, after, Rule(**rule))
    if speaks():
        from dpbench.report.compare import ComparisonText
        from dpbench.report.console import out

        screen = out()
        for line in ComparisonText(found, screen.width).lines():
            screen.print(line)
    if found.empty and not found.worse:
        raise NothingComparable(f"nothing is comparable: {found.why_empty}")
    worse = found.worse or bool(found.lost)
    if worse and not speaks():
        raise GotWorse
    return Exit.WRONG if worse else Exit.OK


OPTIONS: list[click.Parameter] = [
    click.Argument(["files"], nargs=-1, metavar="[BASE NEW]"),
    option("--base", metavar="FILE", multiple=True, help="One more file of BASE; repeatable."),
    option("--new", metavar="FILE", multiple=True, help="One more file of NEW; repeatable."),
    option(
        "--tolerance",
        type=Share("SHARE"),
        default="5%",
        help="Differences up to here do not count; 5% and 0.05 are the same.",
    ),
    option("--from-bytes", type=values.Size(), default="0", help="Rows of smaller sizes are shown, and not judged."),
    flag(
        "--gate",
        about="For one launch against a baseline, in job scripts: exit with 1 if a ratio exceeds the tolerance and the "
        "intervals do not overlap, or if a row of BASE has no time in NEW. No verdict.",
    ),
    flag("--phases", about="Also the phases, where both sides have them; they are never judged."),
    help_option(),
]

compare = click.Command(
    "compare",
    short_help="Compare two sets of results: what got slower, and what cannot be told.",
    help="Compare results, CSV or JSON, of launches before (BASE) and after (NEW). No MPI is needed. One launch is one "
    "observation: a verdict takes at least 4 on each side, more for many rows, and fewer get ratio and interval. A "
    "file that was continued with --append holds several launches."
    "\n\n\b\n"
    "  dpbench compare before.csv after.csv\n"
    "  dpbench compare --base b1.csv --base b2.csv --new n1.csv --new n2.csv\n"
    "  dpbench compare baseline.csv today.csv --gate --tolerance 20% --from-bytes 64K"
    "\n\nExit codes: 0 nothing is worse, 1 something is slower or wrong, or missing at the gate, 2 usage, 3 a file "
    "cannot be used, 6 nothing is comparable.",
    callback=start,
    params=OPTIONS,
    add_help_option=False,
    options_metavar="[OPTIONS]",
)
