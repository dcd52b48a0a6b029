"""Gloo's all-reduce as PyTorch has it, timed as dpbench times: prints the median time of an iteration in seconds.

`mpiexec -n N python gloo.py BYTES ITERATIONS HOST`: float32; HOST is the first rank's.
"""

import os
import sys
from statistics import median
from time import perf_counter

import torch
import torch.distributed as dist

RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")
SIZE = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")


def of_launcher(names: tuple[str, ...]) -> int:
    return int(next(os.environ[name] for name in names if name in os.environ))


nbytes, iterations, host = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group(
    "gloo", init_method=f"tcp://{host}:29500", rank=of_launcher(RANK), world_size=of_launcher(SIZE)
)
gradient = torch.zeros(nbytes // 4)
times = []
for _ in range(iterations + 1):
    dist.barrier()
    start = perf_counter()
    dist.all_reduce(gradient)
    times.append(perf_counter() - start)
slowest = torch.tensor(times[1:], dtype=torch.float64)  # the first one made the connections
dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
if dist.get_rank() == 0:
    print(median(slowest.tolist()))
dist.destroy_process_group()
