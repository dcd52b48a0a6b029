"""How long an exchange may stand still before the job is ended: longer than any whose bytes still move.

From outside a round is seen to end, and not how its bytes come in; of a library call not even that.
"""

from dpbench.measure.case import Case
from dpbench.measure.options import Options
from dpbench.results.link import Link, limit_s

PATIENCE_S = 120.0  #: unless --timeout says otherwise, or the links need long
LIMITS = 20  #: times the limit, where it is known; ours, as what follows
SLOWEST_GRADIENT = 10e6  #: bytes a second: a gradient that arrives at less stands still
SLOWEST_PORT = 100e6  #: the same of the busiest rank's port: a gigabit
SLOWER = 3  #: times the slowest exchange of the case so far


def patience(options: Options, nbytes: int, case: Case | None = None, link: Link | None = None) -> float | None:
    """Return how many seconds ranks may stand still while they prepare or exchange so many bytes; None: for ever."""
    if options.timeout == 0:
        return None
    late = options.straggler[1] if options.straggler else 0.0
    late += options.training.compute if options.training else 0.0
    stream = case.stream if case is not None else 1
    least = [nbytes / SLOWEST_GRADIENT]
    if case is not None:
        least.append(SLOWER * case.slowest)
        least.append(case.ports.busiest_rank_bytes / SLOWEST_PORT if case.ports else 0.0)
        if link is not None and options.timeout is None:
            least.append(LIMITS * (limit_s(case.ports.load, link) if case.ports else 2 * nbytes / link.rank))
    return max(options.timeout or PATIENCE_S, stream * max(least)) + stream * late
