import contextlib
import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpbench.errors import PlatformError
from dpbench.measure.nodes import crossings, ring_order
from dpbench.report.columns import fastest, interval
from dpbench.report.console import Screen, columns, out
from dpbench.report.footer import footer
from dpbench.report.header import group, header
from dpbench.report.peaks import peaks
from dpbench.report.progress import progress
from dpbench.report.table import SizeTable
from dpbench.results.doubt import Doubt
from dpbench.results.facts import RunFacts
from dpbench.results.link import Link
from dpbench.results.phases import Breakdown
from dpbench.results.record import Row

FACTS = RunFacts(
    run_id="r",
    version="0.1.0",
    command="dpbench --csv out.csv",
    started_at="2026-07-01T12:00:00Z",
    mpi_library="Open MPI 5.0.11",
    thread_level="funneled",
    ranks=4,
    hosts=("node1",),
    crowded="",
    scopes={"cpu": "host-memory"},
    links={},
    dtype="float32",
    seed=1,
    floor_s=1.23e-6,
    timer_overhead_s=4e-8,
    timer_resolution_s=3e-8,
)


def row(strategy: str, time: float | None = None, **values: Any) -> Row:
    """A row of 4 workers at 4 KiB, of a schedule in 8 slices unless told otherwise."""
    size = values.get("bytes", 4096)
    given = {} if time is None else {
        "time_median_s": time,
        "time_ci_low_s": time * 0.99,
        "time_ci_high_s": time * 1.014,
        "algbw_GB_per_s": size / time / 1e9,
        "busbw_GB_per_s": size / time / 1e9 * 1.5,
    }  # fmt: skip
    defaults = {
        "run_id": "r", "started_at": "", "finished_at": "", "dpbench_version": "0.1.0", "command": "",
        "mpi_library": "", "thread_level": "", "ranks": 4, "workers": 4, "nodes": 1, "scope": "host-memory",
        "device": "cpu", "dtype": "float32", "bytes": size, "count": size // 4, "slices_requested": "auto",
        "slices": 8, "window": 4, "seed": 1, "busiest_rank_bytes": size * 3 // 2, "wrong_elements": 0,
        "quality": "ok",
    }  # fmt: skip
    return Row(**{"strategy": strategy, **defaults, **given, **values})


ROWS = [
    row("ps", 37.02e-6, busiest_rank_bytes=3 * 4096, warnings="W07 W02", quality="warn"),
    row(
        "sharded-ps", slices=None, busiest_rank_bytes=None, quality="skipped", reason="needs at least 2 ranks"
    ),
    row("ring", 12.34e-6, slices=64, window=8),
    row("mpi", 27.15e-6, slices=None, window=None, busiest_rank_bytes=None),
    row("tree", wrong_elements=17, quality="invalid", reason="17 elements are wrong, first on rank 3"),
]

FLOOR = Doubt("W02", "37 µs is little", "take more", excess=1.5)
NOISE = Doubt("W07", "±6.1 % instead of ±2.5 % after 412 samples, which is a sentence too long for a line", "wait")
PARTS = [Breakdown(row=each, doubts=(FLOOR, NOISE) if each.warnings else ()) for each in ROWS]

TABLE = """\
4 KiB         slices      time      ±    algbw    busbw  busiest  wrong        ×
strategy    × window    median   95 %     GB/s     GB/s     rank   sums  fastest
────────────────────────────────────────────────────────────────────────────────
ps             8 × 4  37.02 µs   1.2%    0.111    0.166   3.00 S      0     3.00
sharded-ps  skipped: needs at least 2 ranks
ring          64 × 8  12.34 µs   1.2%    0.332    0.498   1.50 S      0     1.00
mpi              n/a  27.15 µs   1.2%    0.151    0.226      n/a      0     2.20
tree           8 × 4     WRONG    n/a      n/a      n/a   1.50 S     17      n/a
tree: 17 elements are wrong, first on rank 3

"""

ENDS = """\
W02 in 1 row: ps 4 KiB
          37 µs is little
          take more
W07 in 1 row: ps 4 KiB
          ±6.1 % instead of ±2.5 % after 412 samples, which is a sentence too
          long for a line
          wait

slices    pieces the gradient is cut into × pieces under way at a time
time      median of the iterations, each until the slowest rank is done
±         half the 95 % confidence interval of the median, in % of it
algbw     S / time, S bytes of gradient per worker; GB = 1e9 bytes
busbw     algbw × 2(W-1)/W, W workers, whatever the strategy; per direction
busiest   bytes the busiest rank sends or receives, whichever is more
wrong     elements with a wrong sum, of all ranks; n/a: not checked
×         time / time of the fastest strategy whose result is right
One node: its ranks share memory, which is not a network: no claim about one.
"""


class Stream(io.TextIOWrapper):
    """A file in memory with an encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def text(self) -> str:
        self.flush()
        self.seek(0)
        return self.read()


def printed(*objects: Any, encoding: str = "utf-8") -> str:
    stream = Stream(encoding)
    screen = Screen(stream)
    for each in objects:
        screen.print(each)
    return stream.text()


def cells(only: Row) -> list[str]:
    """The words of the line of a row that is alone in its table."""
    return printed(SizeTable([only])).splitlines()[3].split()


def test_the_table_of_a_size_fits_80_columns_and_shows_every_kind_of_row() -> None:
    text = printed(SizeTable(ROWS))
    assert text == TABLE
    assert max(map(len, text.splitlines())) == 80


def test_the_footer_explains_each_column_and_names_the_rows_of_each_warning() -> None:
    assert printed(*footer(FACTS, PARTS)) == ENDS


def test_of_several_sizes_the_best_of_each_strategy_is_told_and_no_mean() -> None:
    sizes = [row(name, 1e-5, bytes=2**power) for power in (12, 20, 16) for name in ("ps", "ring")]
    sizes += [row("mpi", quality="skipped", bytes=2**20), row("ps", 5e-4, bytes=2**26)]
    best, nothing, *rest = printed(*footer(FACTS, [Breakdown(row=each) for each in sizes])).splitlines()
    assert best == "peaks     busbw, GB/s: ps 201 at 64 MiB, ring 157 at 1 MiB"
    assert nothing == ""
    alone = printed(*footer(FACTS, [Breakdown(row=each) for each in sizes[:2]])).splitlines()
    assert rest == alone  # one size has no best


def test_the_best_is_told_by_device_and_not_across_numbers_of_ranks() -> None:
    rows = [row("ring", 1e-5, bytes=2**power, device=device) for power in (3, 8) for device in ("cpu", "cuda")]
    told = printed(*footer(FACTS, [Breakdown(row=each) for each in rows])).splitlines()
    assert told[0] == "peaks     busbw, GB/s: ring on cpu 0.0384 at 256 B, ring on cuda 0.0384 at 256 B"
    assert peaks([*rows, row("ring", 1e-5, ranks=2)]) == ""


def test_lines_of_the_best_break_between_strategies() -> None:
    rows = [row(f"strategy{n}", 4.096e-6, bytes=4096 * size) for size in (1, 2) for n in range(4)]
    first, second, *_ = printed(*footer(FACTS, [Breakdown(row=each) for each in rows])).splitlines()
    assert first == "peaks     busbw, GB/s: strategy0 3.00 at 8 KiB, strategy1 3.00 at 8 KiB,"
    assert second == "          strategy2 3.00 at 8 KiB, strategy3 3.00 at 8 KiB"


def test_a_code_is_told_once_with_the_figures_of_its_worst_row() -> None:
    causes = [("ps", 1.1), ("sharded-ps", 3.0), ("ring", 2.0), ("mpi", 2.5)]
    parts = [Breakdown(row=row(name), doubts=(Doubt("W02", f"{x} s", "do", x),)) for name, x in causes]
    assert printed(*footer(FACTS, parts)).splitlines()[:4] == [
        "W02 in 4 rows: ps 4 KiB, sharded-ps 4 KiB, ring 4 KiB, …",
        "          sharded-ps 4 KiB: 3.0 s",
        "          do",
        "",
    ]


def test_rows_of_different_numbers_of_ranks_are_told_apart() -> None:
    doubt = Doubt("W03", "4 ranks on n, cores for 2", "do")
    parts = [Breakdown(row=row("ps", ranks=2)), Breakdown(row=row("ps", ranks=4), doubts=(doubt,))]
    assert "W03 in 1 row: ps 4 KiB on 4 ranks" in printed(*footer(FACTS, parts)).splitlines()


def test_what_all_rows_have_alike_is_told_of_none() -> None:
    parts = [Breakdown(row=row(name), doubts=(Doubt("W03", "4 ranks, 2 cores", "do"),)) for name in ("ps", "ring")]
    assert "          4 ranks, 2 cores" in printed(*footer(FACTS, parts)).splitlines()


def test_the_header_says_what_a_reader_needs_to_trust_the_tables() -> None:
    assert (
        printed(*header(FACTS), *group(FACTS))
        == """\
dpbench 0.1.0, started 2026-07-01T12:00:00Z
command   dpbench --csv out.csv
MPI       Open MPI 5.0.11, thread level funneled
ranks     4 on 1 node: node1
gradient  float32 on cpu, seed 1
floor     1.230 µs: an exchange of nothing, timed in the same way

"""
    )


def test_the_header_does_not_grow_with_the_ranks() -> None:
    hosts = tuple(f"node{index:03}" for index in range(128))
    leaders = [rank % 128 for rank in range(1024)]  # dealt out to the nodes
    ring = ring_order(leaders, "node")
    slow = tuple(f"node{index:03} and node000: 1 MB/s, 1% of the usual" for index in range(10))
    link = Link(1e-6, 1e9, 1e9, 8e9, 1e10, slow)
    facts = replace(
        FACTS, ranks=1024, hosts=hosts, per_node=(8,) * 128, ring=ring, crossings=crossings(leaders, ring),
        links={"cpu": link, "cuda": link}, notes=("a", "b", "c"),
    )  # fmt: skip
    text = printed(*header(facts), *group(facts))
    assert text.count("\n") < 40
    assert max(map(len, text.splitlines())) < 130
    assert "ranks     1024 on 128 nodes × 8: node000, node001, node002, node003 … and 124 more\n" in text
    assert "ring      128 of 1024 hops from node to node: ranks 0 128 256 384 512 640 768 896 1 129" in text


@pytest.mark.parametrize(
    ("leaders", "how", "line", "is_warned"),
    [
        ([0, 0, 2, 2], "node", "ring\t2 of 4 hops from node to node", False),
        ([0, 0, 2, 2], "world", "ring\t2 of 4 hops from node to node", False),
        ([0, 1, 0, 1], "node", "ring\t2 of 4 hops from node to node: ranks 0 2 1 3", False),
        ([0, 1, 0, 1], "world", "ring\t4 of 4 hops from node to node", True),
    ],
)
def test_the_header_says_how_often_the_ring_crosses_nodes_and_advises_where_it_is_too_often(
    leaders: list[int], how: str, line: str, is_warned: bool
) -> None:
    ring = ring_order(leaders, how)
    facts = replace(FACTS, hosts=("a", "b"), per_node=(2, 2), ring=ring, crossings=crossings(leaders, ring))
    lines = list(header(facts))
    assert line in lines
    advice = "note\tthe ring crosses nodes in 4 hops, where 2 would do: leave out --ring-order world, or number"
    assert (advice in lines) == is_warned


def test_some_of_the_ranks_are_told_above_their_tables() -> None:
    facts = replace(FACTS, ranks=2, hosts=("a", "b"), per_node=(1, 1), ring=(0, 2), crossings=2)
    assert list(group(facts, is_part=True))[:2] == ["2 ranks on 2 nodes: a, b", "ring\t2 of 2 hops from node to node"]
    assert list(group(facts, is_part=True, quiet=True))[2:] == [""]
    assert list(group(facts, quiet=True)) == []


def test_notes_stand_in_the_header() -> None:
    assert "note\t10 B rounded down to 8 B" in header(
        RunFacts(**{**vars(FACTS), "notes": ("10 B rounded down to 8 B",)})
    )


def test_one_rank_is_told_why_rates_are_missing_and_how_to_use_more() -> None:
    last = list(footer(RunFacts(**{**vars(FACTS), "ranks": 1}), PARTS))[-1]
    assert last == "One rank sends nothing: rates are n/a. Use more: --ranks N, or mpirun -n N."


def test_several_nodes_are_not_told_about_shared_memory() -> None:
    crossing = [replace(each, row=replace(each.row, scope="network", nodes=2)) for each in PARTS]
    assert "memory" not in "".join(footer(FACTS, crossing))
    mixed = list(footer(FACTS, [*crossing, PARTS[0]]))[-1]  # of --scaling, few ranks on one node
    assert mixed.startswith("Rows on one node: their ranks share memory")


def test_an_ascii_stream_gets_the_same_layout_in_ascii() -> None:
    text = printed(SizeTable(ROWS), *header(FACTS), *footer(FACTS, PARTS), encoding="ascii")
    table = TABLE.replace("     ±", "    +-").replace("×", "x").replace("µ", "u").replace("─", "-")
    assert text.startswith(table)
    assert "\n+-        half" in text


def test_names_that_the_stream_cannot_hold_are_escaped() -> None:
    assert printed("host1 sch\u00f6n \udce9", encoding="ascii") == "host1 sch\\xf6n \\udce9\n"
    assert printed("\udce9") == "\\udce9\n"


def test_names_are_not_read_as_markup() -> None:
    assert printed("[red]host[/red] :smile: 1234") == "[red]host[/red] :smile: 1234\n"


def test_no_digit_is_lost_at_40_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert printed(SizeTable(ROWS), *footer(FACTS, PARTS)) == TABLE + ENDS


def test_long_numbers_widen_the_table() -> None:
    text = printed(
        SizeTable([row("ring", 1e-9, bytes=2**40, slices=100_000, window=1000, wrong_elements=2**40)])
    )
    for number in ("100000 × 1000", "1099511627776", "1.50 S"):
        assert number in text


def test_the_fastest_row_is_a_right_one() -> None:
    wrong = row("ps", 1e-6, quality="invalid", wrong_elements=1)
    assert fastest([wrong, ROWS[0], ROWS[2]]) is ROWS[2]
    assert fastest([wrong, ROWS[1]]) is None
    line = printed(SizeTable([wrong, ROWS[2]])).splitlines()[3]
    assert "WRONG" in line
    assert line.endswith("n/a")


@pytest.mark.parametrize(
    ("time", "algbw"),
    [(4.096e-6, "1.00"), (1e-3, "0.00410"), (1.0, "4.1e-06"), (4.096e-9, "1000.00")],
)
def test_rates_show_three_digits_and_at_least_two_decimals(time: float, algbw: str) -> None:
    assert algbw in cells(row("ring", time))


def test_zero_bytes_have_a_time_and_no_rates() -> None:
    zero = row("ring", 2e-6, bytes=0, algbw_GB_per_s=None, busbw_GB_per_s=None, busiest_rank_bytes=0)
    assert cells(zero)[4:] == ["2.000", "µs", "1.2%", "n/a", "n/a", "n/a", "0", "1.00"]


def test_few_samples_and_no_check_are_not_available() -> None:
    unchecked = row("ring", 2e-6, time_ci_low_s=None, time_ci_high_s=None, wrong_elements=None)
    assert cells(unchecked)[6:] == ["n/a", "2.05", "3.07", "1.50", "S", "n/a", "1.00"]


def test_the_limit_column_comes_with_limits() -> None:
    text = printed(SizeTable([row("ring", 2e-6, limit_fraction=0.826), row("mpi", 3e-6)]))
    assert "of limit" in text
    assert "83%" in text
    assert "of limit" not in TABLE


def test_long_strategy_names_widen_the_first_column() -> None:
    text = printed(SizeTable([row("hierarchical-ring", 2e-6), row("ps", quality="skipped", reason="no")]))
    assert text.splitlines()[3].startswith("hierarchical-ring  ")
    assert text.splitlines()[4] == "ps                 skipped: no"


def test_no_escape_codes_or_carriage_returns_where_nobody_watches() -> None:
    stream = Stream()
    screen = Screen(stream)
    with progress(screen, 2) as step:
        step("ring 4 KiB")
        with step.aside():
            screen.print(SizeTable(ROWS))
    assert stream.text() == TABLE


@pytest.mark.parametrize(("half", "shown"), [(0.585, "58.5%"), (0.9994, "99.9%"), (0.9996, "100%"), (12.3, "1230%")])
def test_a_very_wide_interval_does_not_widen_the_table(half: float, shown: str) -> None:
    wide = row("ring", 1e-3, time_ci_low_s=1e-3, time_ci_high_s=1e-3 * (1 + 2 * half))
    assert interval(wide) == shown


@pytest.mark.parametrize(("value", "width"), [("40", 40), ("", 80), ("wide", 80), ("0", 80), ("-5", 80)])
def test_width_is_80_unless_columns_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, value: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", value)
    assert columns() == width


def test_tables_go_to_stderr_where_the_csv_has_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    out("-").print("table")
    out("out.csv").print("table too")
    assert capsys.readouterr() == ("table too\n", "table\n")


def test_a_reader_that_went_away_ends_the_printing_only() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:
        screen = Screen(stream)
        screen.print("to nobody")
        screen.print("again")


def test_a_full_disk_is_an_error_of_the_environment() -> None:
    with open("/dev/full", "w", encoding="utf-8") as stream:
        screen = Screen(stream)
        with pytest.raises(PlatformError, match="/dev/full cannot be written: No space left on device"):
            screen.print("to nowhere")


def on_terminal(act: Callable[[Screen], None]) -> str:
    """Return what a terminal receives while `act` prints."""
    reader, writer = pty.openpty()
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(drain, reader)
        with open(writer, "w", encoding="utf-8") as stream:
            act(Screen(stream))
        return received.result(timeout=10)


def drain(reader: int) -> str:
    data = b""
    with contextlib.suppress(OSError):  # that is how a closed terminal ends
        while more := os.read(reader, 4096):
            data += more
    os.close(reader)
    return data.decode()


def test_a_terminal_sees_colours_and_a_bar_that_steps_aside_for_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def act(screen: Screen) -> None:
        with progress(screen, 3) as step:
            step("ring 4 KiB")
            step("ps 4 KiB")
            with step.aside():
                screen.print(SizeTable(ROWS))

    text = on_terminal(act)
    before, _, after = text.partition("slices")
    assert "ring 4 KiB" in before
    assert "1/3" in before
    assert before.endswith("\x1b[1A\x1b[2K\x1b[1m4 KiB\x1b[0m         \x1b[1m")  # the bar is erased first
    assert "\x1b[32m" in after
    assert "37.02 µs" in after
    assert "1/3" in after


def test_no_color_is_obeyed_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    text = on_terminal(lambda screen: screen.print(SizeTable(ROWS)))
    assert not re.search("\x1b\\[[0-9;]*3[0-7]m", text)
    assert "37.02 µs" in text


def test_force_color_is_obeyed_in_a_file_which_still_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Stream()
    screen = Screen(stream)
    with progress(screen, 2) as step:
        step("ring 4 KiB")
        screen.print(SizeTable(ROWS))
    assert "\x1b[32m" in stream.text()
    assert re.sub("\x1b\\[[0-9;]*m", "", stream.text()) == TABLE


@pytest.mark.parametrize("width", ["40", "1"])
def test_a_narrow_terminal_loses_no_digit_of_a_table(monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", width)

    def act(screen: Screen) -> None:
        with progress(screen, 2) as step:
            step("ring 4 KiB")
            with step.aside():
                screen.print(SizeTable(ROWS))

    text = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", on_terminal(act)).replace("\r", "")
    assert TABLE in text


def test_a_terminal_that_goes_away_ends_the_bar_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    reader, writer = pty.openpty()
    with open(writer, "w", encoding="utf-8") as stream:
        screen = Screen(stream)
        with progress(screen, 2) as step:
            os.close(reader)
            for _ in range(2):
                step("ring 4 KiB")
                with step.aside(), contextlib.suppress(PlatformError):
                    screen.print("to nobody")
        assert screen.lost


@pytest.mark.parametrize(("quiet", "term"), [(True, "xterm"), (False, "dumb")])
def test_no_bar_when_quiet_or_on_a_dumb_terminal(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, term: str
) -> None:
    monkeypatch.setenv("TERM", term)

    def act(screen: Screen) -> None:
        with progress(screen, 3, quiet) as step:
            step("ring 4 KiB")

    assert on_terminal(act) == ""


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_report import FACTS, PARTS, ROWS
from dpbench.report.console import out
from dpbench.report.footer import footer
from dpbench.report.header import header
from dpbench.report.table import SizeTable
for each in (*header(FACTS), SizeTable(ROWS), *footer(FACTS, PARTS)):
    out().print(each)
"""


def test_redirected_in_the_c_locale_the_output_is_ascii_without_control_codes() -> None:
    environment = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
    environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "40"}
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True)
    text = done.stdout.decode("ascii")
    assert "ring          64 x 8  12.34 us   1.2%    0.332    0.498   1.50 S      0     1.00\n" in text
    assert not {"\x1b", "\r"} & set(text)
    assert done.stderr == b""
