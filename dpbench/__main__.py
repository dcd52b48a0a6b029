"""`python -m dpbench`: the same as the command `dpbench`."""

import sys

from dpbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
