"""Sharded parameter server: each server owns one shard of the parameters, so the load spreads."""

from collections.abc import Iterator

from dpbench.errors import Unsuitable
from dpbench.schedule.partition import part
from dpbench.schedule.round import UPDATE, Copy, Op, Recv, Round, Send, Target, Update, round_of
from dpbench.strategies.base import Roles, Scheduled


class ShardedPS(Scheduled):
    """Workers push each shard of their gradient to its server and pull the sum of it from there."""

    name = "sharded-ps"
    summary = "sharded parameter server: every rank (or K of them) aggregates one shard"

    def roles(self, ranks: int, servers: int | None = None, dedicated: bool = False) -> Roles:
        """Every rank serves and works; with `servers` only the first K serve.

        Dedicated servers (by default ranks // 2) do not work.
        """
        if dedicated and ranks < 2:
            raise Unsuitable("dedicated servers need at least 2 ranks, one to serve and one to work")
        count = servers or (max(1, ranks // 2) if dedicated else ranks)
        return Roles(ranks, workers=range(count if dedicated else 0, ranks), servers=range(count))

    def pieces(self, roles: Roles) -> int:
        """Return the number of shards: one for each server."""
        return len(roles.servers)

    def overlap(self, roles: Roles) -> int:
        """Return more the fewer servers share the load: a lone one's port has one slice's push and another's pull."""
        return max(32, min(256, 512 // len(roles.servers)))

    def rounds(self, rank: int, roles: Roles, lo: int, hi: int) -> Iterator[Round]:
        """Push: gradients fan in to the servers, each adds them as they arrive. Pull: the sums fan out."""
        return self.pushed_and_pulled(rank, roles, lo, hi, "output")

    def step(self, rank: int, roles: Roles, lo: int, hi: int) -> Iterator[Round]:
        """Push; each server updates its shard of the weights; pull: the new weights fan out."""
        return self.pushed_and_pulled(rank, roles, lo, hi, "weights")

    def pushed_and_pulled(self, rank: int, roles: Roles, lo: int, hi: int, result: Target) -> Iterator[Round]:
        """Yield the rounds after which every worker has the servers' `result`."""
        shards = {server: part(lo, hi, len(roles.servers), server) for server in roles.servers}
        # Rank r starts with peer r+1 and is served by r-1 first: no two ranks start at the same port.
        servers = after(rank, roles.servers, roles.ranks) if rank in roles.workers else []
        workers = before(rank, roles.workers, roles.ranks) if rank in roles.servers else []
        own = shards.get(rank, (lo, lo))
        first: Op = "first" if rank in roles.workers else "replace"
        alone = rank in roles.servers and not workers
        yield round_of(
            "push",
            sends=[Send(server, "input", *shards[server]) for server in servers],
            recvs=[Recv(worker, *own, "add" if index else first) for index, worker in enumerate(workers)],
            local=[Copy(*own)] if alone else [],
        )
        if result == "weights":
            yield round_of(UPDATE, local=[Update(*own)])
        yield round_of(
            "pull",
            sends=[Send(worker, result, *own) for worker in reversed(workers)],
            recvs=[Recv(server, *shards[server], "replace", result) for server in reversed(servers)],
        )


def after(rank: int, peers: range, ranks: int) -> list[int]:
    """Return `peers` without `rank`, in ring order from rank+1 on."""
    return sorted((peer for peer in peers if peer != rank), key=lambda peer: (peer - rank) % ranks)


def before(rank: int, peers: range, ranks: int) -> list[int]:
    """Return `peers` without `rank`, in ring order from rank-1 backwards."""
    return after(rank, peers, ranks)[::-1]
