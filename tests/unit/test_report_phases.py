"""The tables of phases and ports as printed: 80 columns, and no number cropped."""

from dataclasses import replace
from typing import Any

import pytest
from test_report import FACTS, printed, row

from dpbench.measure.options import Options
from dpbench.report.output import Report
from dpbench.report.phases import digits, legend, phase_table
from dpbench.report.ports import port_table
from dpbench.results.phases import Breakdown, Phase, Port
from dpbench.results.record import Row

MIB = 2**20
LIBRARY = Breakdown(row=row("mpi", 1e-3, bytes=MIB))


def ps(**values: Any) -> Breakdown:
    """A parameter server of 4 ranks at 1 MiB whose phases took 1.2345 and 0.7655 ms."""
    defaults = {"bytes": MIB, "total_bytes": 6 * MIB, "busiest_rank": 0, "busiest_rank_bytes": 3 * MIB, "slices": 1}
    main = row("ps", 2e-3, **{**defaults, **values})
    return Breakdown(
        row=main,
        crossing_bytes=4 * MIB,
        link=2e9 if main.nodes > 1 else None,
        phases=(
            Phase(
                row=phase_row(main, "push", 1.2345e-3),
                least_s=0.4e-3,
                most_s=1.2345e-3,
                busiest=Port(0, 0, 3 * MIB, 2 * MIB, 1.2345e-3),
                worker=Port(2, MIB, 0, MIB, 0.4e-3),
            ),
            Phase(row=phase_row(main, "aggregate", None), within=True),
            Phase(
                row=phase_row(main, "pull", 0.7655e-3),
                least_s=0.7655e-3,
                most_s=1.6e-3,
                busiest=Port(0, 3 * MIB, 0, 2 * MIB, 0.7655e-3),
                worker=Port(2, 0, MIB, MIB, 1.6e-3),
            ),
        ),
    )


def phase_row(main: Row, name: str, time: float | None) -> Row:
    return replace(main, operation=name, time_median_s=time)


TEXTBOOK = """\
1 MiB                time   over ranks   busiest, GB/s    worker, GB/s
phases             median      min-max      in     out      in     out
──────────────────────────────────────────────────────────────────────
ps
  push           1.234 ms   0.400-1.23    2.55       0       0    2.62
    aggregate         n/a          n/a
  pull           765.5 µs     766-1600       0    4.11   0.655       0

"""

NODES = """\
1 MiB                time   over ranks   busiest, GB/s    worker, GB/s   of link
phases             median      min-max      in     out      in     out busy/work
────────────────────────────────────────────────────────────────────────────────
ps
  push           1.234 ms   0.400-1.23    2.55       0       0    2.62  85%/131%
    aggregate         n/a          n/a
  pull           765.5 µs     766-1600       0    4.11   0.655       0  137%/33%
ps: several slices, so phases overlap: each from its first
begin to its last end; they do not add up to the time.

"""

PORTS = """\
Equal totals, unequal ports: bytes of one exchange, S = 1 MiB
           total  busiest  rank    mean  busiest
strategy    sent     rank          rank   / mean
ps        6.00 S   3.00 S     0  1.50 S     2.00

"""

PORTS_OF_NODES = """\
Equal totals, unequal ports: bytes of one exchange, S = 1 MiB
           total  busiest  rank    mean  busiest  between  busiest    mean
strategy    sent     rank          rank   / mean    nodes     node    node
ps        6.00 S   3.00 S     0  1.50 S     2.00   4.00 S   2.00 S  2.00 S

"""


def test_phases_stand_below_their_strategy_and_library_calls_have_none() -> None:
    assert printed(*phase_table([ps(), LIBRARY])) == TEXTBOOK
    assert list(phase_table([LIBRARY])) == list(port_table([LIBRARY])) == []


def test_where_the_link_is_known_ports_have_a_share_of_it_and_slices_are_said_to_overlap() -> None:
    text = printed(*phase_table([ps(nodes=2, slices=8)]))
    assert text == NODES
    assert max(map(len, text.splitlines())) == 80


def test_the_totals_are_equal_and_the_ports_are_not() -> None:
    assert printed(*port_table([ps(), LIBRARY])) == PORTS
    assert printed(*port_table([ps(nodes=2, busiest_node_bytes=2 * MIB)])) == PORTS_OF_NODES


def test_totals_that_are_not_equal_are_not_called_so() -> None:
    other = ps()
    other = replace(other, row=replace(other.row, strategy="ring", total_bytes=3 * (other.row.total_bytes or 0)))
    title = printed(*port_table([ps(), other])).splitlines()[0]
    assert title == "Totals and ports: bytes of one exchange, S = 1 MiB"


def test_nothing_is_said_of_ports_that_carry_nothing_nor_of_times_that_are_wrong() -> None:
    assert list(port_table([ps(total_bytes=0, busiest_rank_bytes=0)])) == []
    assert list(phase_table([ps(time_median_s=None, quality="invalid")])) == []


def test_a_rank_that_adds_nothing_spends_no_time_on_it() -> None:
    main = row("ps", 2e-3, bytes=MIB)
    added = Phase(row=phase_row(main, "aggregate", 0.0), within=True, least_s=0.0, most_s=3.756e-4)
    text = printed(*phase_table([Breakdown(row=main, phases=(added,))]))
    assert text.splitlines()[4].split() == ["aggregate", "0", "µs", "0-376"]


def test_several_devices_are_told_apart_and_their_ports_are_told_once() -> None:
    both = [ps(), ps(device="cuda")]
    text = printed(*phase_table(both))
    assert "\nps on cpu\n" in text
    assert "\nps on cuda\n" in text
    assert printed(*port_table(both)) == PORTS


def test_an_ascii_stream_gets_the_same_layout_in_ascii() -> None:
    expected = TEXTBOOK.replace("─", "-").replace("µ", "u")
    assert printed(*phase_table([ps()]), encoding="ascii") == expected


def test_the_legend_comes_with_phases_and_speaks_of_links_where_they_are_known() -> None:
    assert list(legend([LIBRARY])) == []
    assert "of link" not in printed(*legend([ps()]))
    assert "\nof link   " in printed(*legend([ps(nodes=2)]))
    assert max(map(len, printed(*legend([ps(nodes=2)])).splitlines())) <= 80


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234.5, "1234"), (12.345, "12.3"), (0.0012345, "0.00123"), (0.0000123, "1.2e-05")],
)
def test_numbers_have_three_digits_and_at_most_five_decimals_or_an_exponent(value: float, text: str) -> None:
    assert digits(value) == text


def test_a_report_prints_both_tables_and_writes_phases_after_their_row(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.csv"
    report = Report(Options(command="dpbench", csv=str(path)))
    report.begin(FACTS, 2, {})
    report.size([ps(), LIBRARY])
    report.end()
    printed = capsys.readouterr().out
    assert 0 < printed.index("fastest") < printed.index("over ranks") < printed.index("unequal ports")
    written = [tuple(line.split(",")[8:10]) for line in path.read_text().splitlines()[1:]]
    assert written == [("ps", name) for name in ("allreduce", "push", "aggregate", "pull")] + [("mpi", "allreduce")]
