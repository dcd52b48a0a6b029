"""`dpbench env`: what a run would find here."""

import click

from dpbench.cli.speak import help_option
from dpbench.environment import launch, speaks
from dpbench.errors import Exit
from dpbench.text import printable


def show(as_json: bool) -> int:
    """Print what is known, from one rank; every rank says by its exit code whether it has an MPI library."""
    from dpbench.measure.inquiry import mpi

    library = mpi()
    if speaks():
        tell(library, as_json)
    return Exit.ENVIRONMENT if library["error"] else Exit.OK


def tell(library: dict[str, str | None], as_json: bool) -> None:
    """Print all facts and what follows from them."""
    import json
    import sys

    from dpbench.measure.advice import findings
    from dpbench.measure.inquiry import cuda
    from dpbench.measure.surroundings import surroundings

    found = surroundings()
    started = launch()
    found |= {"python_path": sys.executable, "mpi": library, "cuda": cuda()}
    found["launched"] = started and f"by {started.launcher}: rank {started.rank} of {started.size or 'n/a'}"
    advice = findings(found)
    if as_json:
        found["findings"] = [each._asdict() for each in advice]
        click.echo(json.dumps({"schema": 1, **found}, indent=1))
        return
    from dpbench.report.console import out
    from dpbench.report.environment import lines

    screen = out()
    for line in lines(found, advice):
        screen.print("\t".join(map(printable, line.split("\t"))))


env = click.Command(
    "env",
    short_help="Print what a run would find, and what is wrong.",
    help="Print what a run would find here, and what is wrong with it: Python and packages, the MPI library and its "
    "launcher, cores, memory, GPUs, network devices, variables. For bug reports, and for job scripts: it does not "
    "start MPI, so dpbench run may follow in the same job. Exit code 3: there is no MPI library that can be loaded.",
    callback=show,
    params=[click.Option(["--json", "as_json"], is_flag=True, help="As one JSON document."), help_option()],
    add_help_option=False,
)
