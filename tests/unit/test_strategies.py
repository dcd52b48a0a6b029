"""Strategies are found by scanning their folder; roles say who works and who serves."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dpbench.strategies as folder
from dpbench.errors import Unsuitable
from dpbench.strategies.base import Library, LibraryCalls, Roles, Scheduled
from dpbench.strategies.registry import strategies

MODULE = '''
from dpbench.strategies.base import Library

class Extra(Library):
    """A strategy for a test."""

    name = "{name}"
    summary = "a test's"

    def prepare(self, calls, gradient, output, dtype):
        """Do nothing."""
        return lambda: None
'''


@pytest.fixture
def extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second folder whose files count as strategies; nothing of it stays behind."""
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    strategies.cache_clear()
    yield tmp_path / "extra.py"
    strategies.cache_clear()
    sys.modules.pop(f"{folder.__name__}.extra", None)
    vars(folder).pop("extra", None)


def test_every_file_of_the_folder_is_found() -> None:
    assert {"ps", "sharded-ps", "ring", "mpi"} <= set(strategies())
    assert all(strategy.name == name and strategy.summary for name, strategy in strategies().items())


def test_a_new_file_is_found(extra: Path) -> None:
    extra.write_text(MODULE.format(name="extra"))
    assert isinstance(strategies()["extra"], Library)
    assert {"ps", "ring"} < set(strategies())


def test_a_name_taken_twice_is_an_error(extra: Path) -> None:
    extra.write_text(MODULE.format(name="ring"))
    with pytest.raises(ValueError, match=r"'ring' is taken twice: dpbench\.strategies\..*extra"):
        strategies()


def test_a_broken_file_is_an_error(extra: Path) -> None:
    extra.write_text("import no_such_module_anywhere")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        strategies()


def test_a_subclass_is_not_listed_for_the_file_that_imports_its_base() -> None:
    assert len({type(strategy) for strategy in strategies().values()}) == len(strategies())


def test_every_rank_works_and_only_a_parameter_server_serves() -> None:
    everyone = range(4)
    assert strategies()["ring"].roles(4, servers=2, dedicated=True) == Roles(4, everyone)
    assert strategies()["mpi"].roles(4) == Roles(4, everyone)
    assert strategies()["ps"].roles(4, servers=3) == Roles(4, everyone, range(1))
    assert strategies()["sharded-ps"].roles(4) == Roles(4, everyone, everyone)
    assert strategies()["sharded-ps"].roles(4, servers=3) == Roles(4, everyone, range(3))


def test_dedicated_servers_do_not_work() -> None:
    assert strategies()["ps"].roles(4, dedicated=True) == Roles(4, range(1, 4), range(1))
    assert strategies()["sharded-ps"].roles(5, dedicated=True) == Roles(5, range(2, 5), range(2))
    roles = strategies()["sharded-ps"].roles(5, servers=3, dedicated=True)
    assert roles == Roles(5, range(3, 5), range(3))
    assert roles.dedicated
    assert not strategies()["sharded-ps"].roles(5).dedicated


@pytest.mark.parametrize("name", ["ps", "sharded-ps"])
def test_one_rank_cannot_both_serve_apart_and_work(name: str) -> None:
    with pytest.raises(Unsuitable, match="at least 2 ranks"):
        strategies()[name].roles(1, dedicated=True)


def test_pieces_are_the_messages_that_a_slice_is_cut_into() -> None:
    pieces = {
        name: strategy.pieces(strategy.roles(6))
        for name, strategy in strategies().items()
        if isinstance(strategy, Scheduled)
    }
    assert pieces.items() >= {"ps": 1, "sharded-ps": 6, "ring": 6}.items()
    sharded = strategies()["sharded-ps"]
    assert isinstance(sharded, Scheduled)
    assert sharded.pieces(sharded.roles(6, servers=2)) == 2


def test_servers_and_workers_start_with_different_peers() -> None:
    sharded = strategies()["sharded-ps"]
    assert isinstance(sharded, Scheduled)
    roles = sharded.roles(6)
    pushes = [next(iter(sharded.rounds(rank, roles, 0, 60))) for rank in range(6)]
    assert [push.sends[0].peer for push in pushes] == [1, 2, 3, 4, 5, 0]
    assert [push.recvs[0].peer for push in pushes] == [5, 0, 1, 2, 3, 4]


def test_the_librarys_strategy_is_the_librarys_call() -> None:
    prepared: list[object] = []

    class Calls(LibraryCalls):
        def allreduce(self, gradient: object, output: object, dtype: str) -> Callable[[], None]:
            return lambda: prepared.append((gradient, output, dtype))

    for name in ("mpi", "mpi-out"):
        strategy = strategies()[name]
        assert isinstance(strategy, Library)
        strategy.prepare(Calls(), "gradient", "sum", "float32")()
    assert prepared == [(None, "sum", "float32"), ("gradient", "sum", "float32")]
