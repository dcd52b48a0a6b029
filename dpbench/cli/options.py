"""The options of `dpbench run`, by topic. Their letters are those of nccl-tests."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dpbench import units
from dpbench.cli import names, values
from dpbench.cli.speak import help_option
from dpbench.results.record import BARRIER, STREAMING


def option(*names: str, **attributes: Any) -> click.Option:
    """Return an option with a value, whose default the help shows."""
    value = attributes.get("type")
    if isinstance(value, values.Value):
        attributes.setdefault("metavar", value.name)
    return click.Option(names, show_default="default" in attributes, **attributes)


def flag(*names: str, about: str) -> click.Option:
    """Return an option without a value."""
    return click.Option(names, is_flag=True, help=about)


Topics = Mapping[str, Sequence[click.Option]]

TOPICS: Topics = {
    "What is measured": [
        option(
            *("-s", "--strategy", "strategies"),
            type=names.Strategies("NAMES"),
            multiple=True,
            help="Comma list or repeated; see dpbench list.  [default: ps,sharded-ps,ring,mpi]",
        ),
        option("-d", "--dtype", type=names.DTypeName("NAME"), default="float32", help="Element type."),
        option(
            *("--device", "devices"),
            type=names.DeviceNames("NAMES"),
            default="auto",
            help="Where gradients live: auto, or a comma list of cpu, cuda (also gpu: GPU memory handed to MPI), "
            "cuda-staged (through pinned host memory).",
        ),
        option(
            *("--gpu-aware", "gpu_aware"),
            type=names.Word("auto", "yes", "no"),
            default="auto",
            help="Whether the MPI library takes GPU memory; auto finds out.",
        ),
    ],
    "Message sizes (4096, 4K and 4KiB are the same, 4KB is 4000)": [
        option("-b", "--min-bytes", "least", type=values.Size(), help="Smallest size.  [default: 4K]"),
        option("-e", "--max-bytes", "most", type=values.Size(), help="Largest size.  [default: 64M]"),
        option(
            *("-f", "--step-factor", "factor"),
            type=values.Above("F", 1),
            help="Multiply by F from size to size; 0 is followed by one element.  [default: 4]",
        ),
        option("-i", "--step-bytes", "step", type=values.Size(1), help="Add SIZE from size to size, instead of -f."),
        option("--sizes", "exact", type=values.SizeList("LIST"), help="Exactly these sizes, as 4K,1M."),
    ],
    "How long and how often": [
        option(
            *("-n", "--iters"),
            type=values.Whole("N", 1),
            help="Exactly N samples.  [default: until the median is known within 2.5 %]",
        ),
        option(
            *("-w", "--warmup"),
            type=values.Whole("N", 0),
            help="Exactly N warm-ups.  [default: 10, or fewer in a quarter of --max-time]",
        ),
        option(
            "--timeout",
            type=values.Whole("SECONDS", 0),
            help="End the job after so long without progress, but not before S/10 MB/s, or 3 times the case's slowest "
            "exchange: large messages move slowly; 0: never.  [default: 120, or 20 times the limit]",
        ),
        option(
            "--cadence",
            type=names.Word(BARRIER, STREAMING),
            default=BARRIER,
            help="A barrier before every exchange, or exchanges back to back and their mean, as nccl-tests measures.",
        ),
        option("--max-time", type=values.Above("SECONDS", 0), default=2.0, help="Sampling time of one case."),
        option("-c", "--check", type=values.Switch(), default="1", help="Check every result, outside the timed loop."),
        option(
            "--calibrate",
            type=values.Switch(),
            default="1",
            help="Measure the links first, where there are several nodes.",
        ),
        option("--seed", type=values.Whole("N", 0), default=1, help="Order of the strategies within a size."),
    ],
    "Which ranks take part": [
        option(
            "--scaling",
            type=values.RankCounts("2,4,8|pow2"),
            help="Once with so many ranks each; pow2: 2, 4, 8 and so on, then all. The others sleep.  [default: all]",
        ),
        option(
            "--placement",
            type=names.Word("packed", "spread"),
            help="Of --scaling: fill node after node, or take one rank of each in turn.  [default: packed]",
        ),
        option(
            "--ring-order",
            type=names.Word("node", "world"),
            default="node",
            help="The ring enters each node once, or follows the ranks' numbers.",
        ),
    ],
    "How the strategies run": [
        option("--servers", type=values.Whole("K", 1), help="Servers of sharded-ps.  [default: every rank]"),
        flag("--dedicated-servers", "dedicated", about="Servers only serve; they have no gradient."),
        option(
            *("--slices",),
            type=values.Whole("auto|K", 1, word="auto", most=2**16),
            help="Pieces that travel one after the other and overlap.  [default: auto]",
        ),
        option("--window", type=values.Whole("W", 1, most=2**10), help="Slices under way at a time.  [default: auto]"),
        flag("--textbook", about="The phases one after the other, as books draw them: --slices 1."),
        option(
            *("--server-buffer",),
            type=values.Size(1),
            default="64M",
            help="Most memory a rank receives into before adding.",
        ),
        option(
            "--straggler",
            type=values.Numbered("RANK:TIME", units.parse_time, "3:20ms"),
            help="One rank is so late to every exchange.",
        ),
    ],
    "Output": [
        option(
            "--csv", metavar="FILE", help="Also write rows to FILE; - is stdout, the table goes to stderr."
        ),
        option(
            "--json",
            metavar="FILE",
            help="Also write rows, every time of every rank, plan, links and environment to FILE, as one document; "
            "- is stdout.",
        ),
        option(
            "--raw",
            type=names.Word("auto", "all"),
            default="auto",
            help="Times in the document: of all ranks, or above 64 ranks of each iteration's slowest only (auto).",
        ),
        flag("--phases", about="Also each phase of a strategy: its time, its bytes and the rates of its ports."),
        flag("--strict", about="Exit code 5 instead of 0 if a row has a warning or was skipped."),
        flag("--force", about="Overwrite the files."),
        flag("--append", about="Continue the file of --csv."),
        flag("-q", "--quiet", about="No header, no footer, no progress."),
    ],
    "Starting": [
        flag("--debug", about="Show the traceback of whatever ends a rank."),
        option("--ranks", type=values.Whole("N", 1), help="Start N ranks on this machine; no mpirun needed."),
        option(
            *("-g", "gpus"),
            type=values.OnlyValue("1", "1", "dpbench runs one process per GPU; start more with mpirun -n N"),
            help="As in nccl-tests: only 1.",
            expose_value=False,
        ),
        option(
            *("-t", "threads"),
            type=values.OnlyValue("1", "1", "dpbench runs one thread per rank; start more with mpirun -n N"),
            help="As in nccl-tests: only 1.",
            expose_value=False,
        ),
        option(
            *("-o", "operation"),
            type=values.OnlyValue("sum", "sum", "gradients are summed"),
            help="As in nccl-tests: only sum.",
            expose_value=False,
        ),
        help_option(),
    ],
}
