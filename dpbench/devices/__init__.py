"""Where gradients live and are added: NumPy on the host, CuPy on GPUs."""
