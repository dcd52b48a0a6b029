"""How a failing rank is told: the place, the reason, the exit code; and the faults that tests plant."""

import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from dpbench import hooks
from dpbench.cli.reason import reason
from dpbench.engine.signals import Signals, incomplete
from dpbench.engine.where import Where
from dpbench.errors import PlatformError, RankFailed, Stopped, UsageError
from dpbench.hooks import Hook, parse
from dpbench.measure.agree import SaidByRoot
from dpbench.measure.guard import guarded
from dpbench.measure.options import Options


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (PlatformError("no disk"), 3, "no disk"),
        (UsageError("why"), 4, "why"),
        (click.ClickException("why"), 4, "why"),
        (SystemExit(0), 4, "left with sys.exit(0)"),
        (MemoryError("8 GB"), 4, "out of memory: 8 GB"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 3, "[Errno 28] No space left on device"),
        (BrokenPipeError(), 141, ""),
        (ZeroDivisionError("by zero"), 4, None),
    ],
)
def test_what_ends_a_rank_has_a_code_and_words_unless_it_is_a_bug(
    error: BaseException, code: int, words: str | None
) -> None:
    assert reason(error) == (code, words)


@pytest.mark.parametrize("error", [RuntimeError("x"), SystemExit(0), KeyboardInterrupt(), PlatformError("x")])
def test_what_one_rank_raises_alone_is_told_with_its_place(error: BaseException) -> None:
    where = Where(1, "n1")
    where.case, where.iteration = "ps 4 KiB", 3
    with pytest.raises(RankFailed, match=r"^rank 1 on n1: ps 4 KiB, iteration 3$") as caught, guarded(
        where, Options("dpbench", timeout=0)
    ):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [SaidByRoot(3), Stopped(15)])
def test_what_all_ranks_raise_together_is_left_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)), guarded(Where(), Options("dpbench", timeout=0)):
        raise error


def test_before_the_first_case_the_place_is_the_rank() -> None:
    assert str(Where(3, "n2")) == "rank 3 on n2"


def test_a_signal_that_no_agreement_follows_ends_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpbench.engine.signals.PATIENCE_S", 0.05)
    ended: list[int] = []
    said: list[str] = []
    signals = Signals(Where(), ended.append, said.append)
    signals.last_words = lambda reason: bool(said.append(f"rows: {reason}"))
    signals.caught = 15
    signals.listen()
    assert (ended, said) == ([143], ["rows: stopped by SIGTERM", "incomplete: stopped by SIGTERM; sizes written: none"])
    said.clear()
    signals.last_words = lambda reason: True
    signals.listen()
    assert (ended, said) == ([143, 143], [])  # the output has said it
    signals.over.set()
    signals.listen()
    assert ended == [143, 143]


def test_the_last_words_name_the_sizes_that_are_safe_or_the_rank_that_speaks() -> None:
    where = Where(0, "n1")
    where.written += ["4 KiB", "1 MiB"]
    assert incomplete(2, where) == "incomplete: stopped by SIGINT; sizes written: 4 KiB, 1 MiB"
    assert incomplete(2, Where(1, "n1")) == "rank 1 on n1: stopped by SIGINT"


@pytest.mark.parametrize(
    ("text", "hook"),
    [
        ("raise@1:ring:3=KeyError", Hook("raise", "1", "ring", 3, "KeyError")),
        ("hang@last:7", Hook("hang", "last", "", 7, "")),
        ("node@*=n1", Hook("node", "*", "", None, "n1")),
    ],
)
def test_faults_are_written_as_text(text: str, hook: Hook) -> None:
    assert parse(text) == hook


def test_a_fault_is_for_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hooks.VARIABLE, "node@0=a,node@last=z")
    hooks.hooks.cache_clear()
    assert [hooks.value_of("node", rank, 4) for rank in range(4)] == ["a", None, None, "z"]
    monkeypatch.delenv(hooks.VARIABLE)
    hooks.hooks.cache_clear()
    assert hooks.value_of("node", 0, 4) is None
    before = time.time
    hooks.shift_clock(0, 1)
    assert time.time is before


def test_only_tests_plant_faults() -> None:
    package = Path(hooks.__file__).parent
    assert [path.name for path in package.rglob("*.py") if hooks.VARIABLE in path.read_text()] == ["hooks.py"]


@pytest.mark.parametrize("command", [["show", "ring"], ["env"]])
def test_a_python_package_that_is_missing_is_named(command: list[str]) -> None:
    code = f"import sys; sys.modules['rich'] = None; from dpbench.cli import main; sys.exit(main({command}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "dpbench: the Python package rich is missing: install dpbench, or pip install rich\n"
    assert (done.returncode, done.stderr) == (3, said)
