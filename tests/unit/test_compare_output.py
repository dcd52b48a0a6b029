"""`dpbench compare`, as it is typed: tables, lists, exit codes."""

import io
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from launches import TIMES, csv_file, json_file, row

from dpbench import cli
from dpbench.errors import Exit
from dpbench.results.record import Row

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]):
    def run(*typed: str) -> tuple[int, str, str]:
        code = cli.main(["compare", *typed])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def launches(name: str, count: int, factor: float = 1.0, sizes: Sequence[int] = (4096,), **values: object) -> list[Row]:
    """Launches whose medians are 0, 1, 2, ... per mille longer; the ring takes `factor` times as long."""
    return [
        row(strategy, time * (factor if strategy == "ring" else 1) * (1 + n / 1000), f"{name}{n}", bytes=size, **values)
        for n in range(count)
        for size in sizes
        for strategy, time in TIMES.items()
    ]


def saved(name: str, rows: Iterable[Row]) -> str:
    return csv_file(Path(f"{name}.csv"), rows)


VERDICTS = """\
BASE      5 launches: base.csv
NEW       5 launches: new.csv
tolerance 5 %: slower above a ratio of 1.05, faster below 1 / that

4 KiB           BASE       NEW  ratio     interval       p              verdict
strategy      median    median   time     of ratio    Holm          by launches
───────────────────────────────────────────────────────────────────────────────
ps          100.2 µs  100.2 µs  1.000  0.997-1.003  1.0000  no difference shown
sharded-ps  90.18 µs  90.18 µs  1.000  0.997-1.003  1.0000  no difference shown
ring        200.4 µs  220.4 µs  1.100  1.097-1.103  0.0317               slower
mpi         50.10 µs  50.10 µs  1.000  0.997-1.003  1.0000  no difference shown

median    of the launches' medians; one launch is one observation
ratio     time of NEW / time of BASE: above 1 is slower, and busbw is lower by
          as much
interval  of the ratio, 95 %: the rank-sum test of the launches inverted, exact
p         rank-sum test of the launches, exact, two-sided, corrected for 4 rows
          (Holm)
verdict   slower or faster: p at most 0.05, and the ratio beyond the tolerance

4 rows compared, 3 no difference shown, 1 slower
"""


def test_the_table_of_verdicts(compare) -> None:
    code, out, err = compare(saved("base", launches("b", 5)), saved("new", launches("n", 5, 1.1)))
    assert out == VERDICTS
    assert (code, err) == (Exit.WRONG, "")


def test_no_line_is_wider_than_80_columns_or_ends_in_blanks(compare) -> None:
    rows = launches("b", 5, sizes=(8, 2**26))
    _, out, _ = compare(saved("base", rows), saved("new", launches("n", 5, 9, sizes=(8, 2**26))), "--from-bytes", "9")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []


def test_few_launches_give_ratio_and_interval(compare) -> None:
    code, out, err = compare(
        *(saved("base", launches("b", 3)), saved("new", launches("n", 3, 2))),
    )
    assert "ring        200.2 µs  400.4 µs  2.000  1.918-2.086  too few launches" in out
    assert "too few launches for a verdict: 4 rows take at least 5 launches a" in out
    assert (code, err) == (Exit.OK, "")


def test_files_are_added_with_options(compare) -> None:
    parts = [
        saved(f"{name}{n}", launches(f"{name}{n}", 1, factor))
        for name, factor in (("b", 1), ("n", 2))
        for n in range(5)
    ]
    typed = [word for part in parts for word in (f"--{'base' if part.startswith('b') else 'new'}", part)]
    code, out, _ = compare(*typed)
    assert "BASE      5 launches: b0.csv, b1.csv, b2.csv, b3.csv … and 1 more" in out
    assert code == Exit.WRONG
    assert compare(parts[0], parts[5], *typed[2:10], *typed[12:])[1] == out


def test_launches_of_csv_and_json_go_together(compare) -> None:
    rows = launches("b", 5)
    document = json_file(Path("base.json"), rows[8:])
    code, out, _ = compare(saved("base", rows[:8]), saved("new", launches("n", 5)), "--base", document)
    assert "BASE      5 launches: base.csv, base.json" in out
    assert code == Exit.OK


def test_percent_and_fraction_are_one_tolerance(compare) -> None:
    files = saved("base", launches("b", 5)), saved("new", launches("n", 5, 1.1))
    outputs = [compare(*files, "--tolerance", text) for text in ("10%", "0.1", "10 %", "1e-1", ".1")]
    assert len(set(outputs)) == 1
    assert outputs[0][0] == Exit.OK  # exactly 10 % more is not above it
    assert "tolerance 10 %: slower above a ratio of 1.1" in outputs[0][1]
    assert compare(*files, "--tolerance", "9.99%")[0] == Exit.WRONG


@pytest.mark.parametrize("typed", ["5", "-5%", "", "five", "101%", "nan", "5%%", "1e-400"])
def test_other_tolerances_are_refused(compare, typed: str) -> None:
    code, _, err = compare("a", "b", f"--tolerance={typed}")
    assert code == Exit.USAGE
    assert "--tolerance" in err


def test_the_gate_does_not_pass_what_it_cannot_see(compare) -> None:
    rows = launches("b", 1, sizes=(8, 4096))
    gone = [each for each in launches("n", 1, sizes=(8, 4096)) if each.strategy != "ring"]
    skip = [row("ring", None, "n0", bytes=size, quality="skipped", reason="no memory") for size in (8, 4096)]
    for new in (saved("gone", gone), saved("skipped", gone + skip)):
        code, out, err = compare(saved("base", rows), new, "--gate")
        assert (code, err) == (Exit.WRONG, "")
        assert out.endswith("passed\ngate      FAILED: 2 rows of BASE without a time in NEW: ring 8 B, ring 4 KiB\n")
        assert compare("base.csv", new, "--gate", "--from-bytes", "4K")[1].endswith("in NEW: ring 4 KiB\n")
        assert compare("base.csv", new, "--gate", "--from-bytes", "1M")[0] == Exit.NOTHING_COMPARABLE
        assert compare("base.csv", new)[0] == Exit.OK
        assert compare(new, "base.csv", "--gate")[0] == Exit.OK  # more than the baseline has is no harm


def test_the_gate_says_that_it_is_one(compare) -> None:
    files = saved("base", launches("b", 1)), saved("new", launches("n", 1, 1.2))
    code, out, err = compare(*files, "--gate")
    assert code == Exit.WRONG
    assert "ring        200.0 µs  240.0 µs  1.200  1.153-1.249      FAILED" in out
    assert "gate      FAILED: the ratio is above 1 + tolerance, and its interval above 1." in out
    assert "4 rows compared, 3 passed, 1 FAILED" in out
    assert not err
    assert compare(*files, "--gate", "--tolerance", "20%")[0] == Exit.OK
    assert compare(*files)[0] == Exit.OK


def test_all_that_is_not_compared_is_listed(compare) -> None:
    base = [row("ps"), row("ring"), row("mpi"), row("ring", bytes=8), row("ps", bytes=8)]
    new = [
        row("ps", None, "n", quality="invalid", reason="17 wrong elements, no times are given"),
        row("mpi", None, "n", quality="skipped", reason="needs 2 ranks"),
        row("ring", 1e-3, "n"),
        row("sharded-ps", 1e-3, "n"),
    ]
    code, out, _ = compare(saved("base", base), saved("new", new))
    assert code == Exit.WRONG
    listed = """\
only in BASE, 2 rows
          ring 8 B, ps 8 B
wrong in NEW, 1 row: 17 wrong elements, no times are given
          ps 4 KiB
skipped in NEW, 1 row: needs 2 ranks
          mpi 4 KiB
only in NEW, 1 row
          sharded-ps 4 KiB
"""
    assert listed in out


@pytest.mark.parametrize(
    ("base", "new", "why"),
    [
        ([], [row()], "BASE has no rows"),
        ([row()], [], "NEW has no rows"),
        ([], [], "BASE and NEW have no rows"),
        ([row(bytes=8)], [row(bytes=16)], "no row that both sides have a time of"),
        ([row()], [row("ring", None, quality="skipped")], "no row that both sides have a time of"),
        ([row()], [row(cadence="streaming")], "no row that both sides have a time of"),
    ],
)
def test_nothing_comparable_is_no_success(compare, base: list[Row], new: list[Row], why: str) -> None:
    code, out, err = compare(saved("base", base), saved("new", new))
    assert code == Exit.NOTHING_COMPARABLE == 6
    assert err.startswith("dpbench: nothing is comparable: ")
    assert why in err
    assert out.count("only in") + out.count("skipped in") == len(base) + len(new) or "skipped" in out


def test_a_file_without_rows_is_nothing_comparable(compare) -> None:
    Path("empty").touch()
    code, out, _ = compare("empty", saved("new", [row()]))
    assert code == Exit.NOTHING_COMPARABLE
    assert "empty: holds no rows" in out
    assert "only in NEW, 1 row\n          ring 4 KiB" in out


def test_another_cadence_is_warned_of_beside_what_is_compared(compare) -> None:
    base = [row("ps"), row("ring")]
    code, out, _ = compare(saved("base", base), saved("new", [base[0], replace(base[1], cadence="streaming")]))
    assert code == Exit.OK
    assert "note      cadence differs in 1 row, not compared: BASE barrier, NEW streaming;" in out


def test_another_order_of_ranks_is_warned_of(compare) -> None:
    paths = []
    for name, order in (("base", "AABB"), ("new", "ABAB")):
        ranks = [{"rank": rank, "host": host} for rank, host in enumerate(order)]
        paths.append(json_file(Path(name), [row(run=name)], environment={"ranks": ranks, "nodes": []}))
    _, out, _ = compare(*paths)
    words = " ".join(out.split())
    assert (
        "ring: BASE 2 of 4 ring neighbours on different nodes: n1 n1 n2 n2; "
        "NEW 4 of 4 ring neighbours on different nodes: n1 n2 n1 n2"
    ) in words
    assert "placement: BASE n1 n1 n2 n2; NEW n1 n2 n1 n2" in words


def test_rows_that_differ_in_more_than_strategy_and_size_say_in_what(compare) -> None:
    rows = [row(dtype=dtype, servers=servers) for dtype in ("float32", "float16") for servers in (1, 2)]
    _, out, _ = compare(saved("base", rows), saved("new", rows))
    assert "dtype float16\n4 KiB" in out
    assert "ring servers 2  1.000 ms" in out


def test_rows_of_different_numbers_of_ranks_have_tables_of_their_own(compare) -> None:
    rows = [row(ranks=ranks, workers=ranks) for ranks in (2, 4)]
    _, out, _ = compare(saved("base", rows), saved("new", rows))
    assert "\nranks 2\n4 KiB" in out
    assert "\nranks 4\n4 KiB" in out
    assert "workers" not in out


def test_phases_are_shown_when_asked(compare) -> None:
    rows = [row("ps"), row("ps", 4e-4, operation="push"), row("ps", 6e-4, operation="pull")]
    files = saved("base", rows), saved("new", [replace(each, run_id="n") for each in rows])
    _, out, _ = compare(*files, "--phases")
    assert "  push      400.0 µs  400.0 µs  1.000  0.961-1.041        not judged" in out
    assert "1 row compared" in out
    _, out, _ = compare(*files)
    assert "push" not in out
    assert "--phases compares them" in out


@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["a"],
        ["a", "b", "c"],
        ["--base", "a"],
        ["--new", "a"],
        ["a", "b", "--from-bytes", "x"],
        ["a", "b", "--colour"],
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(compare, typed: list[str]) -> None:
    code, out, err = compare(*typed)
    assert (code, out) == (Exit.USAGE, "")
    assert err.startswith("dpbench: ")


@pytest.mark.parametrize("name", ["nowhere.csv", ".", "/dev/zero", "other.txt"])
def test_a_file_that_cannot_be_used_is_one_message(compare, name: str) -> None:
    Path("other.txt").write_text("time\n1\n")
    code, out, err = compare(saved("base", [row()]), name)
    assert (code, out) == (Exit.ENVIRONMENT, "")
    assert err.startswith(f"dpbench: {name}: ")
    assert len(err.splitlines()) == 1


def run(*typed: str, **env: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "dpbench", "compare", *typed],
        env={**os.environ, "PYTHONPATH": str(ROOT), **env}, capture_output=True, check=False,
    )  # fmt: skip


def test_where_the_locale_has_only_ascii_so_has_the_output() -> None:
    files = saved("base", launches("b", 5)), saved("new", launches("n", 5, 1.1))
    done = run(*files, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.stdout.isascii()
    assert b"200.4 us" in done.stdout
    assert done.returncode == Exit.WRONG


def test_neither_mpi_nor_numpy_is_loaded() -> None:
    path = saved("base", [row()])
    code = (
        "import sys; from dpbench.cli import main; "
        f"main(['compare', {path!r}, {path!r}]); "
        "print([name for name in ('numpy', 'mpi4py', 'cupy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("\n[]\n")


def test_a_reader_that_leaves_changes_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    files = saved("base", launches("b", 5)), saved("new", launches("n", 5, 1.1))
    reader, writer = os.pipe()
    os.close(reader)
    with io.FileIO(writer, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "dpbench", "compare", *files],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=closed, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (Exit.WRONG, b"")


def test_phases_stay_with_their_strategy_where_only_later_launches_have_them(compare) -> None:
    later = [row("ps", run="s"), row("ps", run="s", operation="push"), row("ring", run="s")]
    base = saved("base", [row("ps"), row("ring"), *later])
    _, out, _ = compare(base, saved("new", [replace(each, run_id="n") for each in later]), "--phases")
    names = [line.split()[0] for line in out.splitlines() if line.endswith(("too few launches", "not judged"))]
    assert names[:3] == ["ps", "push", "ring"]


def test_one_rank_of_a_job_speaks_and_all_return_the_same(compare, monkeypatch: pytest.MonkeyPatch) -> None:
    files = saved("base", launches("b", 5)), saved("new", launches("n", 5, 1.1))
    monkeypatch.setattr(cli, "HEAD_START_S", 0)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    assert compare(*files) == (Exit.WRONG, "", "")
    assert compare(files[0], "nowhere.csv") == (Exit.ENVIRONMENT, "", "")
