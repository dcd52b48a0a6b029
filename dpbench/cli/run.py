"""`dpbench run`: what was typed becomes `Options`; then the measurement, or its ranks, are started."""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dpbench import environment
from dpbench.cli.files import has_files, require_one_use_of_each_file
from dpbench.cli.options import TOPICS, Topics
from dpbench.cli.streams import keep_stdout, outlive_readers
from dpbench.cli.sweep import Sweep
from dpbench.errors import UsageError
from dpbench.measure.options import Options, Training, check_training
from dpbench.results.csvfile import require_stdout
from dpbench.results.outfile import STDOUT
from dpbench.results.record import STREAMING
from dpbench.units import format_time

if TYPE_CHECKING:
    from dpbench.report.output import Report

TYPED = "DPBENCH_COMMAND"  # tells ranks that --ranks started what the person typed
STREAMED = ("ps", "sharded-ps", "ring", "mpi-out")  # mpi works in place: no second exchange without a new gradient
ONE_RANK = "one rank: nothing is sent. For more: dpbench run --ranks 4, or mpirun -n 4 dpbench"


class TopicCommand(click.Command):
    """A command that measures; its help groups the options by topic."""

    def __init__(self, name: str, topics: Topics, about: str) -> None:
        params: list[click.Parameter] = [option for options in topics.values() for option in options]
        short = about.partition("\n")[0].partition(":")[0].rstrip(".") + "."
        super().__init__(name, help=about, short_help=short, callback=measure, params=params, add_help_option=False)
        self.topics = topics

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section per topic."""
        for topic, options in self.topics.items():
            with formatter.section(topic):
                formatter.write_dl([record for option in options if (record := option.get_help_record(ctx))])


@click.pass_context
def measure(context: click.Context, /, ranks: int | None, **given: Any) -> int:
    """Start the measurement that the options ask for, on the ranks that are here or on `ranks` new ones."""
    typed: Sequence[str] = context.find_root().obj
    if ranks and environment.launched():
        raise UsageError(launched_already(ranks))
    options = options_from(typed, **given)
    check_training(options)
    if ranks:
        from dpbench.engine.library import become_ranks

        for option, path in (("--csv", options.csv), ("--json", options.json)):
            if path == STDOUT:
                require_stdout(option)  # the ranks will have one, the launcher's
        if has_files(options.csv, options.json):
            outlive_readers()  # they shall be complete
        program = [sys.executable, "-m", "dpbench", *without_ranks(str(context.info_name), typed)]
        become_ranks(ranks, program, **{TYPED: options.command})
    if STDOUT in (options.csv, options.json):
        keep_stdout()
    if not environment.launched():
        from dpbench.engine.library import bound_library

        bound_library(started=True)  # where that ends a process, it ends a child
        options = replace(options, notes=(*options.notes, ONE_RANK))
    from dpbench.measure.job import run as run_job

    return run_job(options, lambda: report_on(options))


def launched_already(ranks: int) -> str:
    """Return why no ranks are started here, and what to do: a notebook in a job, or a step of one task, may want to."""
    names = environment.rank_variables()
    without = " ".join(f"-u {name}" for name in names)
    return (
        f"--ranks {ranks}: a launcher has started this process already ({', '.join(names)} is set): give it the number "
        f"of ranks; or, where it started one task only, leave it behind: env {without} dpbench --ranks {ranks} ..."
    )


def report_on(options: Options) -> "Report":
    """Return the output of the run; only the rank that needs it loads Rich."""
    from dpbench.report.output import Report

    return Report(options)


run = TopicCommand(
    "run",
    TOPICS,
    "Measure the strategies and print a table for each size.\n\n"
    "dpbench with options only means the same, and so does the bare name under mpirun or srun.",
)


def options_from(typed: Sequence[str], *, textbook: bool, slices: int | str | None, **given: Any) -> Options:
    """Return the options; raises UsageError where they contradict each other."""
    if textbook and slices not in (None, 1):
        raise UsageError(f"--textbook means --slices 1; leave out --slices {slices}")
    if given["placement"] and not given["scaling"]:
        raise UsageError("--placement says which ranks take part in --scaling; give both")
    given["placement"] = given["placement"] or Options.placement
    require_one_use_of_each_file(given["csv"], given["json"], given["force"], given["append"])
    sweep = Sweep(**{name: given.pop(name) for name in ("least", "most", "factor", "step", "exact")})
    sizes, notes = sweep.sizes(given["dtype"])
    if given["straggler"]:
        rank, late = given["straggler"]
        notes = (*notes, f"--straggler: rank {rank} is {format_time(late)} late to every exchange")
    training = Training(given.pop("rate"), given.pop("compute")) if "rate" in given else None
    if training:
        given["phases"] = True
        notes = (*notes, described(training))
    streams = given["cadence"] == STREAMING
    if streams and given["phases"]:
        who = "a training step" if training else "--phases"
        raise UsageError(f"{who} tells of phases, and --cadence streaming has none: exchanges overlap; take barrier")
    names = [name for names in given.pop("strategies") for name in names]
    usual = STREAMED if streams else Options.strategies
    return Options(
        command=os.environ.get(TYPED) or as_text(["dpbench", *typed]),
        strategies=tuple(dict.fromkeys(names)) or usual,
        sizes=sizes,
        notes=notes,
        slices=1 if textbook else slices if isinstance(slices, int) else None,
        training=training,
        **given,
    )


def described(training: Training) -> str:
    """Return what happens in a training step."""
    computing = f"{format_time(training.compute)} of computing, " if training.compute else ""
    return f"a training step: {computing}the exchange, and weights -= {training.rate:g} × sum of the gradients"


def as_text(typed: Sequence[str]) -> str:
    """Return what was typed as one line that every file can hold: bytes that are no text come escaped."""
    return shlex.join(typed).encode("utf-8", "backslashreplace").decode()


def without_ranks(command: str, typed: Sequence[str]) -> list[str]:
    """Return the arguments of `dpbench COMMAND` for each rank: as typed, without --ranks."""
    rest, pending = [command], iter(typed[1:] if typed[0] == command else typed)
    for argument in pending:
        if argument == "--ranks":
            next(pending)
        elif not argument.startswith("--ranks="):
            rest.append(argument)
    return rest
