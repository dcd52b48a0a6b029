"""The command `dpbench`: the group of all commands, and which of them is meant when none is named."""

import click

from dpbench import __version__
from dpbench.cli.compare import compare
from dpbench.cli.env import env
from dpbench.cli.lab import lab
from dpbench.cli.listing import list_strategies
from dpbench.cli.run import run
from dpbench.cli.show import show
from dpbench.cli.speak import help_option, printing_option, say
from dpbench.cli.step import step
from dpbench.environment import launched


class DefaultsToRun(click.Group):
    """A group in which options without a command mean `run`, and so does nothing at all under a launcher."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `run` where it is meant; a person who types the bare name at a terminal gets the help."""
        own = {name for option in self.params for name in option.opts}
        if not args and not launched():
            say(ctx.get_help())
            ctx.exit()
        if not args or (args[0].startswith("-") and args[0] not in own):
            args = ["run", *args]
        return super().parse_args(ctx, args)


program = DefaultsToRun(
    "dpbench",
    help="Measure how gradients travel: parameter server, sharded parameter server and ring all-reduce, as "
    "MPI point-to-point programs, beside MPI_Allreduce."
    "\n\n\b\n"
    "  dpbench --ranks 4                    measure on 4 ranks of this machine\n"
    "  mpirun -n 64 dpbench                 measure on the ranks of a job\n"
    "  mpirun -n 64 dpbench --csv out.csv   and keep the rows\n"
    "  dpbench show ring                    draw who sends what to whom"
    "\n\nOptions without a command are those of run: see dpbench run --help.",
    params=[
        help_option(),
        printing_option(["--version"], lambda _: f"dpbench {__version__}", "Show the version."),
    ],
    commands={
        "run": run,
        "step": step,
        "lab": lab,
        "list": list_strategies,
        "show": show,
        "compare": compare,
        "env": env,
    },
    add_help_option=False,
    options_metavar="",
    subcommand_metavar="[COMMAND] [OPTIONS]",
)
