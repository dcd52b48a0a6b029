"""Schedules that do nothing useful but show what the wire can do."""

from collections.abc import Iterator, Sequence

from dpbench.schedule.round import Recv, Round, Send, round_of


def shift(rank: int, active: Sequence[int], lo: int, hi: int, back: bool = True) -> Iterator[Round]:
    """Yield the round in which each active rank sends to the next of them and receives from the one before.

    With `back` False only every other rank sends, to the next: no port is used in both directions.
    """
    if rank not in active or len(active) < 2:
        return
    here = active.index(rank)
    right, left = active[(here + 1) % len(active)], active[here - 1]
    sends = back or (here % 2 == 0 and here + 1 < len(active))
    receives = back or here % 2 == 1
    yield round_of(
        "shift",
        sends=[Send(right, "input", lo, hi)] if sends else [],
        recvs=[Recv(left, lo, hi, "replace")] if receives else [],
    )


def swap(rank: int, pairs: Sequence[tuple[int, int]], lo: int, hi: int) -> Iterator[Round]:
    """Yield the round in which the two ranks of each pair exchange a range; no rank is in two pairs."""
    for pair in pairs:
        if rank in pair:
            peer = pair[1 - pair.index(rank)]
            yield round_of("swap", sends=[Send(peer, "input", lo, hi)], recvs=[Recv(peer, lo, hi, "replace")])


def ping_pong(rank: int, pair: tuple[int, int], lo: int, hi: int) -> Iterator[Round]:
    """Yield the rounds in which one rank sends, and the other answers."""
    if rank in pair:
        peer = pair[1 - pair.index(rank)]
        there = round_of("ping", sends=[Send(peer, "input", lo, hi)])
        back = round_of("pong", recvs=[Recv(peer, lo, hi, "replace")])
        yield from (there, back) if rank == pair[0] else (back, there)
