"""Makes `tests/` importable, so that tests can say `from launcher import mpirun`."""
