"""What the user asked for, converted and checked: everything that `dpbench run` was told."""

from dataclasses import dataclass, field

from dpbench.dtypes import DTYPES
from dpbench.errors import UsageError
from dpbench.measure.stopping import LEAST_SAMPLES
from dpbench.results.record import BARRIER

MOST_RATE = 1e9


@dataclass(frozen=True)
class Training:
    """What makes an exchange a training step."""

    rate: float = 0.01  #: the learning rate of gradient descent
    compute: float = 0.0  #: seconds that each worker computes before it exchanges


@dataclass(frozen=True)
class Options:
    """The options of a run. Sizes in bytes, times in seconds."""

    command: str  #: as typed, for the records
    strategies: tuple[str, ...] = ("ps", "sharded-ps", "ring", "mpi")
    sizes: tuple[int, ...] = ()  #: bytes, ascending, distinct, multiples of the dtype's size
    notes: tuple[str, ...] = field(default=())  #: what was adjusted and the user should read ("rounded down")
    dtype: str = "float32"
    devices: tuple[str, ...] = ("auto",)  #: names, or auto alone
    gpu_aware: str = "auto"  #: auto, yes or no
    iters: int | None = None  #: exactly so many samples, else the stopping rule
    warmup: int | None = None  #: exactly so many warm-ups, else the default rule
    max_time: float = 2.0  #: seconds of sampling per case
    cadence: str = BARRIER
    check: bool = True
    calibrate: bool = True  #: measure the links, where there is more than one node
    servers: int | None = None
    dedicated: bool = False
    slices: int | None = None  #: None is `auto`
    window: int | None = None
    scaling: tuple[int, ...] | str | None = None  #: numbers of ranks, ascending, or pow2; None: all ranks
    placement: str = "packed"  #: which ranks take part where not all do: packed, or spread over the nodes
    ring_order: str = "node"  #: the ranks of the ring, node by node, or in the world's order
    straggler: tuple[int, float] | None = None  #: a rank, and the seconds that it is late to every exchange
    server_buffer: int = 64 * 2**20
    training: Training | None = None  #: None: gradients are exchanged and nothing is done with the sum
    phases: bool = False  #: also the time, bytes and rates of each phase
    csv: str | None = None  #: a path, or "-" for stdout
    json: str | None = None  #: a path, or "-" for stdout
    raw: str = "auto"  #: whose times the JSON document has: all, or auto, of many ranks only the slowest's
    force: bool = False
    append: bool = False
    timeout: int | None = None  #: seconds without progress that end the job; None: by the limit; 0: none do
    seed: int = 1
    strict: bool = False  #: whether a warning or a skipped row is a failure
    quiet: bool = False
    debug: bool = False  #: show the traceback of whatever ends a rank


def check_training(options: Options) -> None:
    """Raise UsageError where weights of this type cannot be trained at this rate."""
    dtype, training = DTYPES[options.dtype], options.training
    if training is None:
        return
    if dtype.least is None or dtype.most is None:
        real = ", ".join(one.name for one in DTYPES.values() if one.least)
        raise UsageError(f"--dtype {dtype.name}: weights are real numbers; take one of {real}")
    most = min(MOST_RATE, (dtype.most / dtype.exact - 1) / LEAST_SAMPLES)  # room for the first block of samples
    if not dtype.least <= training.rate <= most:
        raise UsageError(
            f"--lr {training.rate:g}: weights of {dtype.name} need a rate from {dtype.least:.1e} to {most:.1e}"
        )
