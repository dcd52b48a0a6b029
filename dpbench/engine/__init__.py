"""Running schedules on MPI: the only package that imports mpi4py."""
