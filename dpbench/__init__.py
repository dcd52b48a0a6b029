"""dpbench measures how gradients travel in data-parallel training, over MPI point-to-point."""

__version__ = "0.1.0"
