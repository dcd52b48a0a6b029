"""The README is true: its commands run, its example is a strategy, its tables are the program's."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from launcher import Finished, launcher, mpirun, run

import dpbench.strategies as folder
from dpbench.cli import main
from dpbench.devices.inventory import DEVICES
from dpbench.errors import Exit
from dpbench.measure import quality, stopping
from dpbench.measure.options import Options
from dpbench.report.columns import TABLE
from dpbench.results.record import COLUMNS
from dpbench.strategies.registry import strategies

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

MACHINES = ("a fresh machine", "a cluster", "a GPU machine", "a Linux machine with iproute2")
NOT_HERE = tuple(f"# on {machine}\n" for machine in MACHINES)

# A second folder of strategies, for a rank that is started anew.
WITH_FOLDER = """
import sys
import dpbench.strategies as folder
from dpbench.cli import main
folder.__path__.append(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def table(*heads: str) -> list[list[str]]:
    """Return the rows of the README's table with these heads, cell by cell."""
    lines = README.split("| " + " | ".join(heads) + " |\n")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


COMMANDS = [block for block in blocks("sh") if not block.startswith(NOT_HERE)]
MACHINE, BY_HAND, CLUSTER, *_ = [block for block in blocks("sh") if block.startswith(NOT_HERE)]
OUTPUT = blocks("text")[0]
STRATEGY, TRIAL = blocks("python")


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `dpbench` is this one and `mpirun` starts ranks as `--ranks` does."""
    command, environ = launcher()
    (tmp_path / "bin").mkdir()
    for name, words in (("dpbench", [sys.executable, "-m", "dpbench"]), ("mpirun", command)):
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), environ["PATH"]])
    modules = os.pathsep.join([str(ROOT), *filter(None, [environ.get("PYTHONPATH")])])
    return environ | {"PATH": path, "PYTHONPATH": modules, "PYTHONUTF8": "1"}


def sh(script: str, cwd: Path, environ: dict[str, str]) -> Finished:
    return run(["sh", "-euc", f"cd {shlex.quote(str(cwd))}\n{script}"], environ, timeout=240)


@pytest.mark.parametrize("block", COMMANDS, ids=range(len(COMMANDS)))
def test_the_commands_run(block: str, shell: dict[str, str], tmp_path: Path) -> None:
    quick = block.replace("4MB", "64K") if "minutes" in block else block
    job = sh(quick, tmp_path, shell)
    assert job.returncode == 0, job.stderr
    ends = re.compile(r"fastest$|^busiest ", re.MULTILINE)  # of a table, of a drawing
    assert len(ends.findall(job.stdout + job.stderr)) >= len(block.splitlines())
    assert "skipped" not in job.stdout


def test_the_output_is_what_such_a_run_prints(shell: dict[str, str], tmp_path: Path) -> None:
    job = sh("dpbench --ranks 4 --sizes 4K -n 6", tmp_path, shell)
    assert job.returncode == 0, job.stderr
    told, printed = ([line.split() for line in text.splitlines()] for text in (OUTPUT, job.stdout))
    start = next(index for index, words in enumerate(told) if words[:2] == ["4", "KiB"])
    assert told[start : start + 2] == printed[start : start + 2]
    assert [words[:1] for words in told[:start]] == [words[:1] for words in printed[:start]]
    for row in range(start + 3, start + 7):
        assert (told[row][0], len(told[row])) == (printed[row][0], len(printed[row]))
    assert told[-1] == printed[-1]


def test_make_bench_is_what_the_readme_does_by_hand() -> None:
    given = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "ARGS", "RANKS", "PYTHON")
    environ = {name: value for name, value in os.environ.items() if name not in given}
    job = subprocess.run(["make", "-nB", "bench"], cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    made = [shlex.split(line) for line in job.stdout.splitlines() if not re.search(r"[;{}]|\\$", line)]
    typed = [shlex.split(line, comments=True) for line in BY_HAND.splitlines()[1:]]
    venv, _, install, bench, _ = typed
    assert [words for words in made if set(words) >= set(venv)]
    assert [words for words in made if {"pip", "install", install[-1]} <= set(words)]
    assert [Path(made[-1][0]).name, *made[-1][1:]] == bench


@pytest.fixture
def direct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The README's strategy in a second folder of strategies; nothing of it stays behind."""
    name = re.match(r"# dpbench/strategies/(\w+)\.py\n", STRATEGY)
    assert name
    (tmp_path / f"{name[1]}.py").write_text(STRATEGY, encoding="utf-8")
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    strategies.cache_clear()
    yield tmp_path
    strategies.cache_clear()
    sys.modules.pop(f"{folder.__name__}.{name[1]}", None)
    vars(folder).pop(name[1], None)


def test_the_example_is_a_strategy_that_simulates_without_fault(
    direct: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(TRIAL, "README.md", "exec"), {})
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert re.search(rf"^  direct +{re.escape(strategies()['direct'].summary)}$", listed, re.MULTILINE)


def test_the_example_measures_right_on_real_ranks(direct: Path) -> None:
    typed = "-s direct,ring --sizes 0,4,4K,1M -n 6 --quiet"
    job = mpirun(3, "-c", WITH_FOLDER, str(direct), *typed.split())
    assert job.returncode == 0, job.stderr
    rows = re.findall(r"^direct .*", job.stdout, re.MULTILINE)
    assert len(rows) == 4
    assert all("2.00 S" in row for row in rows[1:])  # each of 3 ranks gets two gradients


@pytest.mark.parametrize(
    "words",
    [
        f"First {stopping.WARMUPS} warm-ups",
        f"within ±{100 * stopping.PRECISION} %",
        f"(from {stopping.ENOUGH_SAMPLES} samples on)",
        f"`--max-time` ({Options.max_time:g} s) is used up (not before {stopping.LEAST_SAMPLES})",
        f"until there are {stopping.MOST_SAMPLES:,}",
    ],
)
def test_the_stopping_rule_is_told_as_it_is(words: str) -> None:
    assert words in " ".join(README.split())


def test_the_tables_are_the_programs() -> None:
    columns = dict.fromkeys(column.head for column in TABLE if column.head != "of limit")
    for head, (told, _) in zip(columns, table("column", "meaning"), strict=True):
        assert told.startswith(f"`{head}")
    names = [name for _, row in table("group", "columns of schema 2, in this order") for name in row.split()]
    assert [name.strip("`") for name in names] == list(COLUMNS)
    told = table("name", "how", "bytes through the busiest rank, each way")
    assert {name.strip("`") for name, *_ in told} == set(strategies())
    told = table("`--device`", "gradients", "bytes", "needs")
    assert {name.split()[0].strip("`") for name, *_ in told} == {"auto", *DEVICES}


def test_codes_are_those_that_can_occur() -> None:
    told = {row[0].strip("`") for row in table("code", "meaning", "what to do")}
    assert told == set(quality.CHECKS)
    codes = {row[0] for row in table("exit code", "meaning")}
    assert {int(code) for code in codes - {"128+n"}} <= {*map(int, Exit)}


@pytest.mark.parametrize("name", ["ps", "sharded-ps", "ring"])
def test_the_drawings_are_those_that_show_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", name]) == 0
    assert capsys.readouterr().out in blocks("text")
