"""Whatever is typed: a documented exit code and, for a mistake, one message; never a traceback. Nothing is measured."""

import sys
from collections.abc import Iterator
from unittest import mock

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as drawn

from dpbench import cli
from dpbench.cli.commands import COMMANDS as NAMES
from dpbench.cli.commands import program
from dpbench.errors import Exit, UsageError
from dpbench.measure.options import Options

NUMBERS = ["0", "1", "-1", "7", "65536", "9" * 20, "1e9", "1e400", "nan", "inf", "-inf", "1_0", "\u0661", "", " "]
SIZES = ["4K", "8G", "8g", "8GiB", "8GB", "0.5M", "1e6", "9e99", "4K,1M", "4K,,1M", ",", "K", "4KK", "1B", "2 M"]
OTHERS = ["ring", "ps,ring", "mpi", "float16", "bf16", "int32", "auto", "auto,cpu", "cuda", "yes", "-", "--", "x" * 300]
TIMES = ["20ms", "1h", "1s", "2:20ms", "9:1h", "2:", ":3", "3:20mbit", "1GB/s", "0bit", "a\u0308", "\udcff", "\x00"]
VALUES = drawn.sampled_from([*NUMBERS, *SIZES, *OTHERS, *TIMES]) | drawn.text(max_size=8)
EVERY = {name: program.get_command(click.Context(program), name) for name in NAMES}


def options() -> list[str]:
    """Return every name of every option of every command, and some that are none."""
    names = {name for command in EVERY.values() for option in command.params for name in option.opts}
    return sorted(name for name in {*names, "--versoin", "-zz", "--size"} if name.startswith("-"))


WORDS = VALUES | drawn.sampled_from([*options(), *EVERY, "--help", "--version"])
LINES = drawn.lists(
    drawn.tuples(drawn.sampled_from(options()), VALUES).map(list) | WORDS.map(lambda word: [word]), max_size=6
).map(lambda pairs: [word for pair in pairs for word in pair])
COMMANDS = drawn.sampled_from([[], *([name] for name in EVERY), ["show", "ring"], ["lab", "--"]])


@pytest.fixture(autouse=True)
def no_measurement(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no ranks start, no lab be laid out, and no file be written."""
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    monkeypatch.setattr(cli, "HEAD_START_S", 0)
    with (
        mock.patch("dpbench.engine.library.become_ranks", side_effect=SystemExit(0)),
        mock.patch("dpbench.lab.outside.run", return_value=0),
        mock.patch("dpbench.results.outfile.open_output", side_effect=UsageError("no file is written here")),
        mock.patch.dict(sys.modules, {"dpbench.measure.job": mock.Mock(run=planned)}),
    ):
        yield


def planned(options: Options, _: object) -> int:
    """Plan on four ranks, instead of measuring."""
    from dpbench.measure.plan import Layout, make_plan

    make_plan(options, ["cpu"], Layout(4, 2))
    return 0


@given(COMMANDS, LINES)
@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_documented_exit_codes_and_no_traceback(
    capsys: pytest.CaptureFixture[str], command: list[str], line: list[str]
) -> None:
    try:
        code = cli.main([*command, *line])
    except SystemExit as started:
        code = int(started.code or 0)
    captured = capsys.readouterr()
    assert code in (Exit.OK, Exit.USAGE, Exit.ENVIRONMENT), captured.err
    assert "Traceback" not in captured.err
    if code == Exit.USAGE:
        assert captured.err.startswith("dpbench: ")
        assert len(captured.err.splitlines()) <= 4, captured.err


def test_the_fuzz_knows_every_command() -> None:
    assert all(isinstance(command, click.Command) for command in EVERY.values())
    assert {"run", "step", "lab", "list", "show", "compare"} <= set(EVERY)
