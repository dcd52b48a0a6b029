"""The MPI library's own collectives, for the strategies that only know how to run."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dpbench.devices.base import Device
from dpbench.engine.mpi import MPI
from dpbench.errors import Unsuitable

TYPE_CODES = {"float16": "e", "float32": "f", "float64": "d", "int32": "i", "int64": "q", "uint8": "B"}
LARGEST_COUNT = 2**31 - 1


class Calls:
    """Collective calls on one communicator and device."""

    def __init__(self, comm: Any, device: Device) -> None:
        self.comm = comm
        self.device = device

    def allreduce_in_place(self, output: Any, dtype: str) -> Callable[[], None]:
        """Return a call of MPI_Allreduce(MPI_IN_PLACE, output, SUM).

        Raises Unsuitable where the library has no such datatype, cannot add it, or cannot count so far.
        """
        datatype = self.addable(dtype)
        count = len(output)
        if count > LARGEST_COUNT and MPI.Get_library_version().startswith("Open MPI"):
            raise Unsuitable(f"Open MPI refuses counts above {LARGEST_COUNT}")
        memory = MPI.memory.fromaddress(self.device.address(output), count * datatype.size)
        return partial(self.comm.Allreduce, MPI.IN_PLACE, [memory, count, datatype], MPI.SUM)

    def addable(self, dtype: str) -> Any:
        """Return the MPI datatype of `dtype`, tried out on one element by all ranks together."""
        try:
            datatype = MPI.Datatype.fromcode(TYPE_CODES[dtype])
            self.comm.Allreduce(MPI.IN_PLACE, [bytearray(datatype.size), 1, datatype], MPI.SUM)
        except (KeyError, ValueError, MPI.Exception) as error:
            raise Unsuitable(f"MPI_Allreduce cannot add {dtype} in this library") from error
        return datatype
