"""Where gradients live and are added: NumPy on the host; the interface is made for GPUs too."""
