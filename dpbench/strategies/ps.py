"""Parameter server: rank 0 is the master; its port carries everybody's gradient."""

from dpbench.errors import Unsuitable
from dpbench.strategies.base import Roles
from dpbench.strategies.sharded_ps import ShardedPS


class PS(ShardedPS):
    """The one-server case: workers push whole gradients to the master and pull the whole sum from it."""

    name = "ps"
    summary = "parameter server: rank 0 is the master and aggregates every gradient"

    def roles(self, ranks: int, servers: int | None = None, dedicated: bool = False) -> Roles:
        """Rank 0 serves; it also works unless `dedicated`. `servers` is ignored."""
        if dedicated and ranks < 2:
            raise Unsuitable("a dedicated server needs at least 2 ranks, one to serve and one to work")
        return super().roles(ranks, servers=1, dedicated=dedicated)
