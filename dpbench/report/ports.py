"""Equal totals, unequal ports: all strategies move the same bytes, and differ in where they pile up."""

from collections.abc import Iterator, Sequence

from dpbench.report.words import aligned
from dpbench.results.phases import Breakdown
from dpbench.results.record import Row
from dpbench.units import format_size

HEADS = (["", "total", "busiest", "rank", "mean", "busiest"], ["strategy", "sent", "rank", "", "rank", "/ mean"])
NODE_HEADS = (["between", "busiest", "mean"], ["nodes", "node", "node"])


def port_table(breakdowns: Sequence[Breakdown]) -> Iterator[str]:
    """Yield the lines about one size, for `Screen.print`; none where nothing travels."""
    moving = [each for each in breakdowns if each.phases and each.row.total_bytes]
    told = list({each.row.strategy: each for each in moving}.values())  # the same bytes on every device
    if not told:
        return
    equal = len({each.row.total_bytes for each in told}) == 1  # not with several dedicated servers
    title = "Equal totals, unequal ports" if equal else "Totals and ports"
    yield f"{title}: bytes of one exchange, S = {format_size(told[0].row.bytes)}"
    more = NODE_HEADS if told[0].row.nodes > 1 else ([], [])
    heads = [[*head, *extra] for head, extra in zip(HEADS, more, strict=True)]
    yield from aligned([*heads, *(list(cells(each)) for each in told)], right=1)
    yield ""


def cells(breakdown: Breakdown) -> Iterator[str]:
    """Yield what a strategy moves: in all, then between nodes."""
    row = breakdown.row
    total, busiest = row.total_bytes or 0, row.busiest_rank_bytes or 0
    mean = total / row.ranks
    yield from (row.strategy, multiple(total, row), multiple(busiest, row), str(row.busiest_rank))
    yield from (multiple(mean, row), f"{busiest / mean:.2f}")
    if row.nodes > 1:
        crossing = breakdown.crossing_bytes or 0
        yield from (multiple(each, row) for each in (crossing, row.busiest_node_bytes or 0, crossing / row.nodes))


def multiple(nbytes: float, row: Row) -> str:
    """Return bytes as a multiple of S."""
    return f"{nbytes / row.bytes:.2f} S"
