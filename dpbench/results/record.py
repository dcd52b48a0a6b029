"""One row of results: the columns of schema 2, in the order of the CSV. None is "not measured or not defined"."""

from dataclasses import dataclass, fields

SCHEMA = 2  #: 2 added the last two columns
BARRIER, STREAMING = "barrier", "streaming"  #: cadences: a barrier before every exchange; exchanges back to back
WHOLE = ("allreduce", "step")  #: operations; any other is a phase of the row above it


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case: a strategy at a size. Times in seconds, sizes in bytes, rates in GB/s (1e9 bytes a second)."""

    schema: int = SCHEMA
    run_id: str
    started_at: str  #: UTC, ISO 8601
    finished_at: str
    dpbench_version: str
    command: str
    mpi_library: str
    thread_level: str
    strategy: str
    operation: str = "allreduce"
    ranks: int
    workers: int | None
    nodes: int
    scope: str  #: network, intra-node-gpu, shared-gpu, host-memory
    device: str
    dtype: str
    bytes: int
    count: int
    dedicated: int | None = None  #: 1 if some server does not work, else 0
    servers: int | None = None
    slices_requested: str  #: auto or a number
    slices: int | None = None
    window: int | None = None
    cadence: str = BARRIER
    warmup: int | None = None
    iterations: int | None = None
    stop_reason: str | None = None  #: iters, precision, time, samples or wrong
    seed: int
    time_median_s: float | None = None
    time_ci_low_s: float | None = None
    time_ci_high_s: float | None = None
    time_min_s: float | None = None
    time_p25_s: float | None = None
    time_p75_s: float | None = None
    time_p95_s: float | None = None
    time_max_s: float | None = None
    algbw_GB_per_s: float | None = None
    busbw_GB_per_s: float | None = None
    total_bytes: int | None = None
    busiest_rank: int | None = None
    busiest_rank_bytes: int | None = None
    busiest_node_bytes: int | None = None
    limit_s: float | None = None
    limit_fraction: float | None = None
    wrong_elements: int | None = None  #: None when the check was off
    quality: str  #: ok, warn, invalid, skipped
    warnings: str = ""  #: codes, blank between
    reason: str | None = None  #: why it was skipped, or what is wrong
    start_skew_s: float | None = None  #: on one host, medians: from the first rank's start to the last one's,
    span_s: float | None = None  #: and from the first start to the last end


COLUMNS = tuple(field.name for field in fields(Row))
