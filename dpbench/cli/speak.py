"""What all ranks would print alike is printed by one."""

from collections.abc import Callable

import click

from dpbench.environment import speaks


def say(text: str) -> None:
    """Print `text` on stdout if this rank is the one that speaks; MPI is not started to find out."""
    if speaks():
        click.echo(text)


def printing_option(names: list[str], text: Callable[[click.Context], str], about: str) -> click.Option:
    """Return a flag that prints a text and ends the program, as --help does."""

    def show(context: click.Context, _: click.Parameter, given: bool) -> None:
        if given and not context.resilient_parsing:
            say(text(context))
            context.exit()

    return click.Option(names, is_flag=True, is_eager=True, expose_value=False, callback=show, help=about)


def help_option() -> click.Option:
    """Return the option that prints a command's help."""
    return printing_option(["-h", "--help"], lambda context: context.get_help(), "Show this text.")
