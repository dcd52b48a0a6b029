"""A trial in a process of its own: send GPU memory to oneself, small and large. Exit code 0: it arrived whole.

A library that cannot take device pointers crashes here (or fails), and not in the measurement.
"""

import sys

import numpy as np

SIZES = (64, 2**20)  # bytes: on both sides of any eager limit


def main() -> int:
    """Return 0 if what was sent arrived, 1 if something else did, 3 if no GPU could be used."""
    from dpbench.devices.inventory import missing_for_cuda

    if missing_for_cuda():
        return 3
    from dpbench.devices.cuda import CudaDevice
    from dpbench.engine.mpi import MPI, start

    start()
    device = CudaDevice(0)
    for size in SIZES:
        sent = device.from_host(np.arange(size, dtype=np.uint8))
        received = device.from_host(np.zeros(size, dtype=np.uint8))
        specs = [
            [MPI.memory.fromaddress(device.address(array), size), size, MPI.BYTE] for array in (sent, received)
        ]
        MPI.COMM_SELF.Sendrecv(specs[0], 0, 0, specs[1], 0, 0)
        if device.count_different(sent, received):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
