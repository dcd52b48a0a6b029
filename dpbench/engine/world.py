"""The job as one rank sees it: who is where, and the collective calls that are not measured."""

import os
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from time import sleep
from typing import Any

import numpy as np

from dpbench.engine.hosts import allowed_cores, crowd, host_identity, host_name, machine_identity, same_node
from dpbench.engine.mpi import BINDING, MPI, library, start
from dpbench.engine.where import Where
from dpbench.hooks import hooks

THREAD_LEVELS = {
    MPI.THREAD_SINGLE: "single",
    MPI.THREAD_FUNNELED: "funneled",
    MPI.THREAD_SERIALIZED: "serialized",
    MPI.THREAD_MULTIPLE: "multiple",
}


SHORTEST_S, LONGEST_S = 1e-3, 50e-3  # of the sleeps of ranks that others keep waiting


class World:
    """Ranks that act together: all ranks of the job, or some of them. Every method that communicates is collective.

    Making one starts MPI; raises PlatformError, on every rank, where they are not one job.
    """

    def __init__(self) -> None:
        start()
        self.comm: Any = MPI.COMM_WORLD.Dup()  # for agreement
        self.exchange_comm: Any = MPI.COMM_WORLD.Dup()  # for what is measured, so that nothing can be confused
        self.rank: int = self.comm.rank
        self.size: int = self.comm.size
        self.numbers: Sequence[int] = range(self.size)  #: of the ranks in the job
        self.leaders = same_node(self.comm.allgather(self.shared_leader()), self.comm.allgather(host_identity()))
        self.local_rank: int = self.leaders[: self.rank].count(self.leaders[self.rank])
        self._names: list[str] = self.comm.allgather(host_name())
        self.where = Where(self.rank, self.host(self.rank), self.size)  #: what this rank is doing
        self.look_for_cores()

    def part(self, ranks: Sequence[int]) -> "World | None":
        """Return the world of some `ranks`, ascending, on these ranks; None on the others. Of all ranks it is this."""
        if len(ranks) == self.size:
            return self
        comm = self.comm.Split(0 if self.rank in ranks else MPI.UNDEFINED, self.rank)
        if comm == MPI.COMM_NULL:
            return None
        part = copy(self)
        part.comm, part.exchange_comm = comm, comm.Dup()
        part.rank, part.size = comm.rank, comm.size
        part.numbers = [self.numbers[rank] for rank in ranks]
        leaders = [self.leaders[rank] for rank in ranks]
        part.leaders = [leaders.index(leader) for leader in leaders]
        part._names = [self.host(rank) for rank in ranks]
        part.look_for_cores()
        return part

    def meet(self) -> None:
        """Return when every rank has called it. Who comes early sleeps, and neither sends nor is watched meanwhile."""
        patience, pause = self.where.patience_s, SHORTEST_S
        self.where.enter("waiting for the ranks that measure", None, 0, None)
        request = self.comm.Ibarrier()
        while not request.Test():
            sleep(pause)
            pause = min(2 * pause, LONGEST_S)
        self.where.enter("", None, 0, patience)

    def look_for_cores(self) -> None:
        """Find out where ranks have to share cores."""
        crowded_here = self.more_ranks_than_cores()
        #: which machine cannot give each of its ranks a core; empty if every one can
        self.crowded: str = next(filter(None, self.comm.allgather(crowded_here)), "")
        self.idle: Callable[[], None] | None = os.sched_yield if crowded_here else None

    @property
    def binding(self) -> str:
        """The version of mpi4py."""
        return BINDING

    @cached_property
    def library(self) -> str:
        """The MPI library's name and version, short: `MPICH 5.0.2`."""
        return library()

    @property
    def library_string(self) -> str:
        """All that the MPI library says of itself."""
        return str(MPI.Get_library_version()).rstrip("\0").strip()

    @property
    def thread_level(self) -> str:
        """The thread level that MPI gave."""
        return THREAD_LEVELS[MPI.Query_thread()]

    @property
    def nodes(self) -> int:
        """The number of nodes: groups of ranks that share memory."""
        return len(set(self.leaders))

    @property
    def hosts(self) -> tuple[str, ...]:
        """One name per node, in the order of their first ranks."""
        return tuple(self.host(leader) for leader in sorted(set(self.leaders)))

    @property
    def number(self) -> int:
        """This rank's number in the job."""
        return self.numbers[self.rank]

    def shared_leader(self) -> int:
        """Return the first of the ranks that share memory with this one, as MPI sees it."""
        shared = self.comm.Split_type(MPI.COMM_TYPE_SHARED)
        leader: int = shared.bcast(self.rank)
        if hooks():  # hosts that tests made up share no memory
            leader = next(rank for name, rank in shared.allgather((host_name(), self.rank)) if name == host_name())
        shared.Free()
        return leader

    def more_ranks_than_cores(self) -> str:
        """Return how many ranks of this machine, which may play several nodes, share cores; empty if none have to."""
        machines: list[str] = self.comm.allgather(machine_identity())
        here = self.comm.Split(machines.index(machines[self.rank]))
        cores = here.allgather(allowed_cores())
        here.Free()
        ranks, scarce = crowd(cores)
        alone = len(cores) - len(ranks) + len(scarce)
        return f"{len(cores)} ranks on {host_name()}, cores for {alone}" if ranks else ""

    def host(self, rank: int) -> str:
        """Return the name of the host that a rank runs on."""
        return self._names[rank]

    def barrier(self) -> None:
        """Return when every rank has called it; let others run meanwhile where ranks share cores."""
        if not self.crowded:
            self.comm.Barrier()
            return
        request = self.comm.Ibarrier()
        while not request.Test():
            os.sched_yield()

    def from_root(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        return self.comm.bcast(value)

    def gather(self, value: Any) -> list[Any]:
        """Return every rank's value on every rank, in rank order."""
        values: list[Any] = self.comm.allgather(value)
        return values

    def to_root(self, value: Any) -> list[Any] | None:
        """Return every rank's value, in rank order, on rank 0; None on the others."""
        values: list[Any] | None = self.comm.gather(value)
        return values

    def sum(self, value: int) -> int:
        """Return the sum over ranks on every rank."""
        return int(self.comm.allreduce(value))

    def maxima(self, values: list[int]) -> list[int]:
        """Return, on every rank, the elementwise maximum over ranks of equally long lists."""
        mine = np.array(values, dtype=np.int64)
        most = np.empty_like(mine)
        self.comm.Allreduce(mine, most, op=MPI.MAX)
        return [int(value) for value in most]
