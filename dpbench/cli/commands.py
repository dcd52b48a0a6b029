"""The command `dpbench`: the group of all commands, and which of them is meant when none is named."""

from importlib import import_module

import click

from dpbench import __version__
from dpbench.cli.speak import help_option, printing_option, say
from dpbench.environment import launched

COMMANDS = {
    "run": ("run", "run"),
    "step": ("step", "step"),
    "lab": ("lab", "lab"),
    "list": ("listing", "list_strategies"),
    "show": ("show", "show"),
    "compare": ("compare", "compare"),
    "env": ("env", "env"),
}  #: by name the module and what it is called there: a rank, of which there may be thousands, loads its own only


class DefaultsToRun(click.Group):
    """A group in which options without a command mean `run`, and so does nothing at all under a launcher."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, loaded now; None where there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"dpbench.cli.{module}"), name)
        return command

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
    add_help_option=False,
    options_metavar="",
    subcommand_metavar="[COMMAND] [OPTIONS]",
)
