"""The MPI library's own collectives, for the strategies that only know how to run."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dpbench.devices.base import Device
from dpbench.engine.memory import Place
from dpbench.engine.mpi import MPI
from dpbench.engine.steps import in_turn
from dpbench.errors import Unsuitable

TYPE_CODES = {"float16": "e", "float32": "f", "float64": "d", "int32": "i", "int64": "q", "uint8": "B"}
LARGEST_COUNT = 2**31 - 1


class Calls:
    """Collective calls on one communicator and device."""

    def __init__(self, comm: Any, device: Device, trusted: bool) -> None:
        self.comm = comm
        self.device = device
        self.trusted = trusted  #: whether the library's collectives may be given this device's memory

    def allreduce(self, gradient: Place | None, output: Place, dtype: str) -> Callable[[], None]:
        """Return a call of MPI_Allreduce(gradient, output, SUM), without a gradient of MPI_IN_PLACE.

        Raises Unsuitable where the library has no such datatype, cannot add it, or cannot count so far.
        """
        if self.device.direct and not self.trusted:
            raise Unsuitable("this MPI library does not say that its collectives take GPU memory")
        datatype = self.addable(dtype)
        count = len(output.array)
        if count > LARGEST_COUNT and MPI.Get_library_version().startswith("Open MPI"):
            raise Unsuitable(f"Open MPI refuses counts above {LARGEST_COUNT}")
        source = gradient or output
        sent, summed = ([self.memory(place, datatype), count, datatype] for place in (source, output))
        call = partial(self.comm.Allreduce, sent if gradient else MPI.IN_PLACE, summed, MPI.SUM)
        if output.mirror is output.array:
            return call
        queue = self.device.queue()
        down, up = queue.copier(source.array, source.mirror), queue.copier(output.mirror, output.array)
        return partial(in_turn, down, queue.wait, call, up, queue.wait)

    def memory(self, place: Place, datatype: Any) -> Any:
        """Return the memory of a place as MPI takes it."""
        return MPI.memory.fromaddress(self.device.address(place.mirror), len(place.array) * datatype.size)

    def addable(self, dtype: str) -> Any:
        """Return the MPI datatype of `dtype`, tried out on one element by all ranks together."""
        try:
            datatype = MPI.Datatype.fromcode(TYPE_CODES[dtype])
            self.comm.Allreduce(MPI.IN_PLACE, [bytearray(datatype.size), 1, datatype], MPI.SUM)
        except (KeyError, ValueError, MPI.Exception) as error:
            raise Unsuitable(f"MPI_Allreduce cannot add {dtype} in this library") from error
        return datatype
