"""Any rank makes rank 0 close its output before the job ends, and only those of the job can."""

import socket
import time
from typing import Any

import pytest
from threadedworld import on_ranks

from dpbench.engine import bell
from dpbench.engine.bell import Bell


def rung(act: Any, words: Any, rings: bool = True) -> list[Any]:
    """Return what `act` returns for the bell of each of 3 ranks; rank 0 has `words` to say."""

    def rank(world: Any) -> Any:
        made = Bell(world, rings)
        if world.rank == 0:
            made.words = words
        world.gather(None)
        return act(made)

    return on_ranks(3, rank)


@pytest.mark.parametrize("rank", [0, 2])
def test_whichever_rank_rings_rank_0_has_the_last_word(rank: int) -> None:
    said: list[str] = []
    found = rung(lambda made: made.ring(f"rank {rank} failed") if made.rank == rank else None, said.append)
    assert found[rank] is True
    assert said == [f"rank {rank} failed"]


def test_ranks_that_fail_alike_all_get_an_answer() -> None:
    assert rung(lambda made: made.ring("all failed"), lambda reason: None) == [True, True, True]


def test_words_that_find_no_end_keep_nobody_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "WORDS_S", 0.1)
    begin = time.monotonic()
    assert rung(lambda made: made.ring("failed"), lambda reason: time.sleep(4)) == [False] * 3
    assert time.monotonic() - begin < 3


def test_without_a_file_to_close_only_rank_0_rings() -> None:
    assert rung(lambda made: made.ring("failed"), lambda reason: None, rings=False) == [True, False, False]


def test_a_stranger_who_does_not_know_the_key_is_not_heard() -> None:
    said: list[str] = []

    def stranger(made: Bell) -> bytes:
        if made.rank != 1:
            return b""
        with socket.create_connection(made.places[0]) as line:
            line.sendall(b"x" * 32 + b"stop")
            line.shutdown(socket.SHUT_WR)
            return line.recv(10)

    assert rung(stranger, said.append) == [b""] * 3
    assert said == []


def test_hosts_are_known_by_the_addresses_of_their_interfaces() -> None:
    assert all(socket.inet_aton(address) for address in bell.own_addresses())
    assert not any(address.startswith("127.") for address in bell.own_addresses())
