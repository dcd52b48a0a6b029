"""`dpbench list`: what can be measured."""

import click

from dpbench.cli.speak import help_option, say


@click.command("list", params=[help_option()], add_help_option=False)
def list_strategies() -> None:
    """List the strategies, the element types and the devices."""
    from dpbench.devices.inventory import DEVICES
    from dpbench.dtypes import DTYPES
    from dpbench.strategies.registry import strategies

    width = max(map(len, strategies()))
    lines = [f"  {name:{width}}  {strategy.summary}" for name, strategy in strategies().items()]
    say("\n".join(["Strategies (-s):", *lines]))
    say(f"Element types (-d): {', '.join(DTYPES)}")
    say(f"Devices (--device): {', '.join(DEVICES)}")
