"""A program: `python alltypes.py RANKS OPTION...` measures each element type, all in one MPI job.

Most of a short run on a GPU is its start. The exit code is the greatest of the runs'.
"""

import sys

from dpbench.cli import main
from dpbench.dtypes import DTYPES
from dpbench.engine.library import become_ranks
from dpbench.environment import launched

if __name__ == "__main__":
    ranks, *typed = sys.argv[1:]
    if not launched():
        become_ranks(int(ranks), [sys.executable, *sys.argv])
    # Only before MPI is started may a trial be made of it, which auto does.
    sys.exit(max([main(["run", "--gpu-aware", "yes", "--dtype", dtype, *typed]) for dtype in DTYPES]))
