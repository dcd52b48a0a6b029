"""dpbench in a rough place: `rough.py ARGUMENTS...`.

Every rank has 1,000 lines of a library on its stderr, and the disk is full once the rows of the first size are there.
"""

import errno
import os
import sys

from dpbench.cli import main

synchronise = os.fsync
calls = 0


def fsync(descriptor: int) -> None:
    """Fail after the header and the first size."""
    global calls  # noqa: PLW0603
    calls += 1
    if calls > 2:
        raise OSError(errno.ENOSPC, "No space left on device")
    synchronise(descriptor)


os.fsync = fsync
for line in range(1000):
    os.write(2, f"Read -1, expected {line}, errno = 1\n".encode())
sys.exit(main(sys.argv[1:]))
