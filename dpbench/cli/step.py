"""`dpbench step`: a run whose exchanges are training steps."""

from dpbench.cli import values
from dpbench.cli.options import TOPICS, option
from dpbench.cli.run import TopicCommand
from dpbench.measure.options import Training

TOPIC = [
    option(
        *("--lr", "rate"),
        type=values.Above("RATE", 0),
        default=str(Training.rate),
        help="Learning rate: weights -= RATE × sum of the gradients.",
    ),
    option(
        "--compute",
        type=values.Time(),
        default="0",
        help="What each worker computes before it exchanges, its core busy, as 20ms.",
    ),
]

step = TopicCommand(
    "step",
    {"The training step": TOPIC, **TOPICS},
    "Measure synchronous training steps and print their phases: compute, exchange the gradients, update the weights "
    "by gradient descent. ps and sharded-ps keep the weights on the servers: push, update, pull; ring and mpi on "
    "every worker: all-reduce, update. Every worker's weights must then equal those of a training by one process, "
    "bit for bit."
    "\n\n\b\n"
    "  dpbench step --ranks 4 -s ps,ring --sizes 4M --compute 20ms"
    "\n\nThe other options are those of run.",
)
