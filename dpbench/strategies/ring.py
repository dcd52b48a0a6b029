"""Ring all-reduce: no master; a reduce-scatter, then an all-gather, between neighbours only."""

from collections.abc import Iterator

from dpbench.schedule.partition import part
from dpbench.schedule.round import Buffer, Copy, Recv, Round, Send, round_of
from dpbench.strategies.base import Roles, Scheduled


class Ring(Scheduled):
    """N-1 steps that each add one chunk, then N-1 steps that each pass one finished chunk on."""

    name = "ring"
    summary = "ring all-reduce: reduce-scatter, then all-gather, N-1 steps each between neighbours"
    ordered = True

    def pieces(self, roles: Roles) -> int:
        """Return the number of chunks: one for each rank."""
        return roles.ranks

    def overlap(self, roles: Roles) -> int:
        """Return few, but more than are under way: the 2(N-1) steps of one slice follow each other closely already."""
        return max(4, 64 // roles.ranks)

    def rounds(self, rank: int, roles: Roles, lo: int, hi: int) -> Iterator[Round]:
        """In step s the rank at place p passes on chunk p-s, which then sums s+1 ranks; chunk p+1 ends here."""
        ranks, ring = roles.ranks, roles.ring or range(roles.ranks)
        place = ring.index(rank)
        left, right = ring[place - 1], ring[(place + 1) % ranks]
        chunks = [part(lo, hi, ranks, index) for index in range(ranks)]

        def chunk(index: int) -> tuple[int, int]:
            return chunks[index % ranks]

        if ranks == 1:
            yield round_of("reduce-scatter", local=[Copy(lo, hi)])
        for step in range(ranks - 1):
            source: Buffer = "output" if step else "input"
            yield round_of(
                "reduce-scatter",
                sends=[Send(right, source, *chunk(place - step))],
                recvs=[Recv(left, *chunk(place - step - 1), "first")],
            )
        for step in range(ranks - 1):
            yield round_of(
                "all-gather",
                sends=[Send(right, "output", *chunk(place + 1 - step))],
                recvs=[Recv(left, *chunk(place - step), "replace")],
            )
