"""Messages as the engine needs them: prebuilt buffer specs, and requests that are persistent or made anew."""

from functools import partial
from typing import Any

from dpbench.devices.base import Call
from dpbench.engine.mpi import MPI


class Wire:
    """One communicator's point-to-point messages.

    Data travels as bytes, so that every dtype works on every MPI. A prebuilt spec is what makes a call cheap;
    a persistent request saves a little more but lives until it is freed, so at most `PERSISTENT` are kept.
    """

    PERSISTENT = 16_384

    startall = staticmethod(MPI.Prequest.Startall)
    testall = staticmethod(MPI.Request.Testall)
    testsome = staticmethod(MPI.Request.Testsome)

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.live = 0  #: persistent requests not yet freed

    def spec(self, address: int, nbytes: int) -> list[Any]:
        """Return a buffer spec of `nbytes` bytes at `address`; whoever owns the memory must outlive it."""
        return [MPI.memory.fromaddress(address, nbytes), nbytes, MPI.BYTE]

    def fits(self, requests: int) -> bool:
        """Return whether so many more persistent requests may be kept."""
        return self.live + requests <= self.PERSISTENT

    def persistent(self, kind: str, spec: list[Any], peer: int, tag: int) -> Any:
        """Return a persistent request; `kind` is `send` or `recv`. Give it back with `free`."""
        self.live += 1
        make = self.comm.Send_init if kind == "send" else self.comm.Recv_init
        return make(spec, peer, tag)

    def transient(self, kind: str, spec: list[Any], peer: int, tag: int) -> Call:
        """Return a call that starts a request of its own each time."""
        return partial(self.comm.Isend if kind == "send" else self.comm.Irecv, spec, peer, tag)

    def free(self, requests: list[Any]) -> None:
        """Free persistent requests."""
        for request in requests:
            request.Free()
        self.live -= len(requests)
