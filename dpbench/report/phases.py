"""The second table of a size: what the time of each strategy is made of, phase by phase."""

from collections.abc import Iterator, Sequence
from math import floor, log10

from dpbench.report.columns import NOTHING, name_of
from dpbench.results.phases import Breakdown, Phase, Port
from dpbench.units import format_size, format_time

HEAD = "{:<16}{:>9}{:>13}{:>16}{:>16}{:>10}"
LINE = "{:<16}{:>9}{:>13}{:>8}{:>8}{:>8}{:>8}{:>10}"
RULE, RULE_WITH_LINK = "─" * 70, "─" * 80
MOST_DECIMALS, SMALLEST = 5, 1e-3  #: three digits fit
SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}

LEGEND = (
    "phases\tuntil the last rank has done its part; the median. n/a: not timed",
    "\taggregate, additions: time inside additions, most of any rank, in the",
    "\tphase above",
    "min-max\tof the ranks: the medians of what each spends in the phase itself",
    "\tphases add up to the time in each sample, their medians nearly",
    "in, out\tbytes of the phase's busiest port, and of the median worker's, / time",
)
LINK_LEGEND = "of link\tbytes to or from other nodes / time, as a share of what the link moves"


def phase_table(breakdowns: Sequence[Breakdown]) -> Iterator[str]:
    """Yield the lines of the phases of one size, for `Screen.print`; none if there are no phases."""
    told = [each for each in breakdowns if each.phases and each.row.time_median_s is not None]
    if not told:
        return
    linked = any(each.link for each in told)
    of_link, which = ("of link", "busy/work") if linked else ("", "")
    size = format_size(told[0].row.bytes)
    yield HEAD.format(size, "time", "over ranks", "busiest, GB/s", "worker, GB/s", of_link).rstrip()
    yield line("phases", "median", "min-max", "in", "out", "in", "out", which)
    yield RULE_WITH_LINK if linked else RULE
    several = len({each.row.device for each in told}) > 1
    for each in told:
        yield name_of(each.row, several)
        yield from (phase_line(phase, each.link) for phase in each.phases)
    overlapping = [name_of(each.row, several) for each in told if each.overlaps]
    if overlapping:
        yield f"{', '.join(overlapping)}: several slices, so phases overlap: each from its first"
        yield "begin to its last end; they do not add up to the time."
    yield ""


def legend(breakdowns: Sequence[Breakdown]) -> Iterator[str]:
    """Yield the lines that explain the tables."""
    told = [each for each in breakdowns if each.phases]
    if told:
        yield ""
        yield from LEGEND
    if any(each.link for each in told):
        yield LINK_LEGEND


def line(*cells: str) -> str:
    """Return a line of the table."""
    return LINE.format(*cells).rstrip()


def phase_line(phase: Phase, link: float | None) -> str:
    """Return the line of a phase."""
    shares = [share(port, link) for port in (phase.busiest, phase.worker)]
    return line(
        ("    " if phase.within else "  ") + phase.row.operation,
        *times(phase),
        *(cell for port in (phase.busiest, phase.worker) for cell in rates(port)),
        "/".join(shares) if link and phase.busiest else "",
    )


def times(phase: Phase) -> tuple[str, str]:
    """Return the median, and the least and the most of the ranks' medians in the same unit."""
    time, least, most = phase.row.time_median_s, phase.least_s, phase.most_s
    if time is None or least is None or most is None:
        return NOTHING, NOTHING
    text = format_time(time or most)  # 0 is what a rank spends in additions that are another's
    unit = text.split()[1]
    spans = f"{digits(least * SCALES[unit])}-{digits(most * SCALES[unit])}"
    return (text if time else f"0 {unit}").replace("us", "µs"), spans


def rates(port: Port | None) -> list[str]:
    """Return what goes in and what goes out of a port, in GB/s."""
    found = [port.rate_in, port.rate_out] if port else []
    return [NOTHING if rate is None else digits(rate) for rate in found] or ["", ""]


def share(port: Port | None, link: float | None) -> str:
    """Return a port's share of the link."""
    found = port.share(link) if port and link else None
    return NOTHING if found is None else f"{found:.0%}"


def digits(value: float) -> str:
    """Return a number with 3 digits, or those that a few decimals hold."""
    if value <= 0:
        return "0"
    if value < SMALLEST:
        return f"{value:.1e}"
    return f"{value:.{min(MOST_DECIMALS, max(0, 2 - floor(log10(value))))}f}"
