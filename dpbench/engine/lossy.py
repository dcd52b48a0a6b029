"""A wire that loses a message when it is told to: only tests ask for it, see `dpbench.hooks`."""

from collections.abc import Iterable
from typing import Any

from dpbench.engine.mpi import MPI
from dpbench.engine.wire import Wire


class LossyRequest(MPI.Prequest):
    """A persistent send that may not start."""

    wire: "LossyWire"

    def Start(self) -> None:
        """Start, unless the message is to be lost."""
        if not self.wire.loses():
            super().Start()


class LossyWire(Wire):
    """A wire whose next send is lost after each call of `lose`: whoever should receive it waits for ever."""

    losing = False

    def lose(self) -> None:
        """Lose the next send."""
        self.losing = True

    def loses(self) -> bool:
        """Return whether this send is lost."""
        lost, self.losing = self.losing, False
        return lost

    def startall(self, requests: Iterable[Any]) -> None:
        """Start all requests, one by one."""
        for request in requests:
            request.Start()

    def persistent(self, kind: str, spec: list[Any], peer: int, tag: int) -> Any:
        """Return a persistent request that can be lost if it sends."""
        request = super().persistent(kind, spec, peer, tag)
        if kind != "send":
            return request
        lossy = LossyRequest(request)
        lossy.wire = self
        return lossy
