"""`dpbench show`: what is printed and drawn, and what cannot be."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpbench import cli
from dpbench.errors import Exit
from dpbench.strategies.base import Scheduled
from dpbench.strategies.registry import strategies

SCHEDULED = [name for name, one in strategies().items() if isinstance(one, Scheduled)]
SVG = "{http://www.w3.org/2000/svg}"

RING = """\
ring on 3 ranks: 4 rounds
gradient  S bytes, in 3 chunks of S/3
workers   ranks 0-2
cells     0+1: gradients of ranks 0 and 1, summed; all: complete; -: nothing

Round 1 of 4, reduce-scatter
  0 -> 1  chunk 0  added     rank       0    1    2
  1 -> 2  chunk 1  added     chunk 0    0  0+1    2
  2 -> 0  chunk 2  added     chunk 1    0    1  1+2
                             chunk 2  0+2    1    2

Round 2 of 4, reduce-scatter
  0 -> 1  chunk 2  added     rank       0    1    2
  1 -> 2  chunk 0  added     chunk 0    0  0+1  all
  2 -> 0  chunk 1  added     chunk 1  all    1  1+2
                             chunk 2  0+2  all    2

Round 3 of 4, all-gather
  0 -> 1  chunk 1  replaces  rank       0    1    2
  1 -> 2  chunk 2  replaces  chunk 0  all  0+1  all
  2 -> 0  chunk 0  replaces  chunk 1  all  all  1+2
                             chunk 2  0+2  all  all

Round 4 of 4, all-gather
  0 -> 1  chunk 0  replaces  rank       0    1    2
  1 -> 2  chunk 1  replaces  chunk 0  all  all  all
  2 -> 0  chunk 2  replaces  chunk 1  all  all  all
                             chunk 2  all  all  all

bytes        sent  received
ranks 0-2  1.33 S    1.33 S
total      4.00 S    4.00 S
busiest   ranks 0-2: 1.33 S, sent or received, whichever is more
"""

PS = """\
ps on 3 ranks: 2 rounds
gradient  S bytes
workers   ranks 1-2
servers   rank 0
cells     a number: the gradient of that rank; all: complete; -: nothing

Round 1 of 2, push
  1 -> 0    gradient  replaces  rank        0    1    2
  2 -> 0    gradient  added     gradient  all    1    2

Round 2 of 2, pull
  0 -> 1-2  gradient  replaces  rank        0    1    2
                                gradient  all  all  all

bytes        sent  received
rank 0     2.00 S    2.00 S
ranks 1-2  1.00 S    1.00 S
total      4.00 S    4.00 S
busiest   rank 0: 2.00 S, sent or received, whichever is more
"""

SHARDED = """\
sharded-ps on 12 ranks: 2 rounds
gradient  S bytes, in 4 chunks of S/4
workers   ranks 0-11
servers   ranks 0-3

Round 1 of 2, push: 44 messages, 11 S in all
  1-11 -> 0      chunk 0  added
  0,2-11 -> 1    chunk 1  added
  0-1,3-11 -> 2  chunk 2  added
  0-2,4-11 -> 3  chunk 3  added
  complete: 1 of 4 chunks on ranks 0-3

Round 2 of 2, pull: 44 messages, 11 S in all
  0 -> 1-11      chunk 0  replaces
  1 -> 0,2-11    chunk 1  replaces
  2 -> 0-1,3-11  chunk 2  replaces
  3 -> 0-2,4-11  chunk 3  replaces
  complete: the gradient on ranks 0-11

bytes          sent  received
ranks 0-3    3.50 S    3.50 S
ranks 4-11   1.00 S    1.00 S
total       22.00 S   22.00 S
busiest   ranks 0-3: 3.50 S, sent or received, whichever is more
"""


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> "Show":
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    return Show(capsys)


class Show:
    """Runs `dpbench show`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *typed: object) -> str:
        """What is printed when all is well."""
        code, out, err = self.all(*typed)
        assert (code, err) == (Exit.OK, "")
        return out

    def all(self, *typed: object) -> tuple[int, str, str]:
        code = cli.main(["show", *map(str, typed)])
        return code, *self.capsys.readouterr()


def alone(*typed: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """`dpbench show` in a process of its own."""
    command = [sys.executable, "-m", "dpbench", "show", *typed]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)


def test_a_ring_is_told_round_by_round(show: Show) -> None:
    assert show("ring", "--ranks", 3) == RING


def test_a_parameter_server_is_told_in_two_rounds(show: Show) -> None:
    assert show("ps", "--ranks", 3, "--dedicated-servers") == PS


def test_many_ranks_are_told_in_short(show: Show) -> None:
    assert show("sharded-ps", "--ranks", 12, "--servers", 4) == SHARDED


def test_four_ranks_unless_told_otherwise(show: Show) -> None:
    assert show("ring") == show("ring", "--ranks", 4)
    assert show("ring").startswith("ring on 4 ranks: 6 rounds\n")


def test_rounds_alike_are_left_out_and_counted(show: Show) -> None:
    text = show("ring", "--ranks", 64)
    titles = [line.split()[1] for line in text.splitlines() if line.startswith("Round ")]
    assert titles == ["1", "2", "63", "64", "65", "126"]
    assert text.count("… 60 more rounds\n") == 2
    assert text.count("  … and 61 more\n") == 6
    assert "  complete: nothing yet\n  partial sums of up to 3 of 64 gradients\n" in text
    assert "  complete: 1 of 64 chunks on ranks 0-63\n" in text
    assert "ranks 0-63    1.97 S    1.97 S\ntotal       126.00 S  126.00 S\n" in text


@pytest.mark.parametrize(("name", "ranks", "last"), [
    ("ring", 1000, "999   all-gather                999       999      1.00 S    1.00 S"),
    ("sharded-ps", 1000, "999   pull             999       999      1.00 S    1.00 S"),
    ("ps", 30_000, "29999  pull               0         1      0.00 S      1.00 S"),
])  # fmt: skip
def test_very_many_ranks_are_counted_instead_of_played(show: Show, name: str, ranks: int, last: str) -> None:
    lines = show(name, "--ranks", ranks).splitlines()
    assert lines[0] == f"{name} on {ranks} ranks"
    assert "note      too many messages to play: counted for some ranks only" in lines
    assert lines[-1] == last


def forms() -> Iterator[list[object]]:
    for ranks in range(1, 10):
        for name in SCHEDULED:
            yield [name, "--ranks", ranks]
            if ranks > 1:
                yield [name, "--ranks", ranks, "--dedicated-servers"]
        for servers in range(1, ranks):
            yield ["sharded-ps", "--ranks", ranks, "--servers", servers, "--dedicated-servers"]


def test_every_strategy_is_told_within_80_columns(show: Show) -> None:
    for form in forms():
        text = show(*form)
        assert max(map(len, text.splitlines())) <= 80, form
        assert not any(line != line.rstrip() for line in text.splitlines()), form
        assert "\x1b" not in text


def test_a_wide_terminal_shows_whose_gradients_are_summed(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\ncells     2/8: " in show("ring", "--ranks", 8)
    monkeypatch.setenv("COLUMNS", "160")
    assert "  0+1+2+3+4+5+6  " in show("ring", "--ranks", 8)


def test_a_narrow_one_loses_nothing(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = show("sharded-ps", "--ranks", 8)
    monkeypatch.setenv("COLUMNS", "20")
    assert show("sharded-ps", "--ranks", 8) == wide


def test_colours_where_they_are_wanted() -> None:
    assert "\x1b[1;32m  all\x1b[0m" in alone("ps", FORCE_COLOR="1", TERM="xterm").stdout


def test_plain_ascii_in_a_locale_that_knows_no_better() -> None:
    job = alone("ring", "--ranks", "9", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (job.returncode, job.stderr) == (0, "")
    assert job.stdout.isascii()
    assert "\n  ... and 6 more\n" in job.stdout


def test_options_that_mean_nothing_are_noted(show: Show) -> None:
    text = show("ring", "--servers", 2, "--dedicated-servers")
    assert text.splitlines()[-2:] == [
        "note      --servers 2 means nothing to ring",
        "note      --dedicated-servers means nothing to ring",
    ]
    assert "note" not in show("sharded-ps", "--servers", 2, "--dedicated-servers")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("mpi", ["mpi is one call of a library: it has no schedule", "ring"]),
        ("rin", ["unknown strategy 'rin'", "known: ", "did you mean ring?"]),
        ("", ["Missing argument 'STRATEGY'"]),
        ("ring ps", ["unexpected extra argument (ps)"]),
        ("ring --ranks 0", ["--ranks", "'0' is not allowed", "from 1 to 65536"]),
        ("ring --ranks four", ["--ranks", "'four' is not allowed"]),
        ("ring --ranks 65537", ["--ranks", "'65537' is not allowed"]),
        ("sharded-ps --ranks 4 --servers 5", ["--servers 5 is too many: at most 4"]),
        ("sharded-ps --ranks 4 --servers 4 --dedicated-servers", ["--servers 4 is too many: at most 3"]),
        ("sharded-ps --servers 0", ["--servers", "'0' is not allowed"]),
        ("ps --ranks 1 --dedicated-servers", ["--dedicated-servers needs at least 2 ranks"]),
        ("ring --force", ["--force needs a file; add -o FILE.svg"]),
        ("ring --force -o -", ["--force needs a file"]),
        ("ring -o ring.png", ["-o ring.png: pictures are SVG; name it ring.svg"]),
        ("ring -o ring.svg --ranks 64", ["-o ring.svg", "lower --ranks"]),
        ("ring -o ring.svg --ranks 5000", ["-o ring.svg", "lower --ranks"]),
    ],
)
def test_what_makes_no_sense_is_one_message(
    show: Show, typed: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = show.all(*typed.split())
    assert (code, out) == (Exit.USAGE, "")
    assert err.startswith("dpbench: ")
    assert [word for word in words if word not in err] == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_name_is_refused(show: Show) -> None:
    assert show.all("ring", "-o", "") == (2, "", "dpbench: -o '' names no file; give a path, or - for stdout\n")


def test_a_place_that_cannot_be_written_is_one_message(show: Show, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, words in {
        tmp_path: f"is a folder; name a file in it, as {tmp_path}/ring.svg",
        tmp_path / "missing" / "ring.svg": f"the folder {tmp_path}/missing does not exist",
        tmp_path / "file" / "ring.svg": "name a file that you may write",
        Path("/dev/full"): "cannot be written",
    }.items():
        code, out, err = show.all("ring", "-o", path)
        assert (code, out) == (Exit.ENVIRONMENT, "")
        assert err.startswith(f"dpbench: -o {path}: ")
        assert words in err


def test_a_file_is_only_replaced_with_force(show: Show, tmp_path: Path) -> None:
    path = tmp_path / "ring.svg"
    show("ring", "--ranks", 2, "-o", path)
    before = path.read_bytes()
    code, out, err = show.all("ring", "-o", path)
    message = f"dpbench: -o {path}: the file exists; replace it with --force, or name another file\n"
    assert (code, out, err) == (Exit.ENVIRONMENT, "", message)
    assert path.read_bytes() == before
    assert show("ring", "-o", path, "--force").startswith("ring on 4 ranks")
    assert b"ring on 4 ranks" in path.read_bytes()


@pytest.mark.parametrize(
    ("typed", "cells", "messages"),  # cells: ranks, rows, chunks
    [
        ("ring", 4 * 7 * 4, {"added": 12, "replaces": 12}),
        ("ring --ranks 1", 1 * 2 * 1, {}),
        ("ring --ranks 8", 8 * 15 * 8, {"added": 56, "replaces": 56}),
        ("ps --ranks 3", 3 * 3 * 1, {"added": 2, "replaces": 2}),
        ("ps --ranks 5 --dedicated-servers", 5 * 3 * 1, {"added": 3, "replaces": 5}),
        ("sharded-ps --ranks 5 --servers 2", 5 * 3 * 2, {"added": 8, "replaces": 8}),
    ],
)
def test_a_picture_has_a_cell_for_each_chunk_and_an_arrow_for_each_message(
    show: Show, tmp_path: Path, typed: str, cells: int, messages: dict[str, int]
) -> None:
    show(*typed.split(), "-o", tmp_path / "one.svg")
    root = ElementTree.parse(tmp_path / "one.svg").getroot()
    assert root.tag == f"{SVG}svg"
    boxes = [box for box in root.iter(f"{SVG}rect") if box.get("class") == "cell"]
    assert len(boxes) == len({(box.get("x"), box.get("y")) for box in boxes}) == cells
    last = max(float(box.get("y", "")) for box in boxes)
    assert {box.get("fill") for box in boxes if float(box.get("y", "")) == last} == {"#2b8a3e"}
    arrows = Counter(line.get("class") for line in root.iter(f"{SVG}line"))
    assert arrows == Counter({"added": 1, "replaces": 1}) + Counter(messages)  # one of each in the legend


def test_a_picture_stands_alone_and_everything_is_in_it(show: Show, tmp_path: Path) -> None:
    show("ps", "-o", tmp_path / "ps.svg")
    root = ElementTree.parse(tmp_path / "ps.svg").getroot()
    assert "http" not in (tmp_path / "ps.svg").read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
    width, height = (float(root.get(name, "")) for name in ("width", "height"))
    for box in root.iter(f"{SVG}rect"):
        if box.get("class"):
            x, y, w, h = (float(box.get(name, "")) for name in ("x", "y", "width", "height"))
            assert 0 <= x < x + w <= width
            assert 0 <= y < y + h <= height
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"ps on 4 ranks", "rank 0, server", "round 1", "push", "sent 3.00 S", "received 1.00 S"} <= set(texts)


def test_partial_sums_are_shaded_by_their_share(show: Show, tmp_path: Path) -> None:
    show("ring", "-o", tmp_path / "ring.svg")
    root = ElementTree.parse(tmp_path / "ring.svg").getroot()
    shades = Counter(box.get("fill-opacity") for box in root.iter(f"{SVG}rect") if box.get("class") == "cell")
    # Complete: none after rounds 0 to 2, then 1, 2, 3, 4 of each rank.
    assert shades[None] == 4 * (1 + 2 + 3 + 4)
    assert set(shades) == {None, "0.25", "0.5", "0.75"}


def test_a_picture_goes_to_stdout_and_the_text_to_stderr() -> None:
    job = alone("ring", "-o", "-")
    assert job.returncode == 0
    assert ElementTree.fromstring(job.stdout).tag == f"{SVG}svg"
    assert job.stderr == alone("ring").stdout


def test_a_reader_that_leaves_is_no_fault() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "dpbench", "show", "ring"]
    job = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (job.returncode, job.stderr) == (0, b"")


def test_a_wrong_schedule_is_drawn_and_what_is_wrong_is_said(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = strategies()["ring"]
    assert isinstance(ring, Scheduled)
    whole = ring.rounds
    monkeypatch.setattr(ring, "rounds", lambda *what: list(whole(*what))[:-1])
    code, out, err = show.all("ring", "--ranks", 2)
    assert code == Exit.WRONG
    assert "Round 1 of 1, reduce-scatter" in out
    assert err.splitlines()[0].startswith("dpbench: ring is wrong: sum: rank 0")


def test_one_rank_of_a_job_speaks(show: Show, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert show("ring", "-o", tmp_path / "ring.svg") == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("typed", [["ring", "-o", "-"], ["--help"], ["mpi"]])
def test_nothing_heavy_is_loaded(typed: list[str]) -> None:
    code = "import sys; from dpbench.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    job = subprocess.run([sys.executable, "-c", code, "show", *typed], capture_output=True, text=True, check=True)
    modules = set(job.stderr.splitlines()[-1].split())
    assert not {"mpi4py", "numpy", "cupy"} & modules
    assert ("rich" in modules) == (typed[0] == "ring")


@pytest.mark.parametrize(
    ("typed", "most"), [(["--help"], 0.3), *((f"{name} --ranks 64".split(), 2.0) for name in SCHEDULED)]
)
def test_it_comes_at_once(typed: list[str], most: float) -> None:
    def seconds() -> float:
        begin = os.times()
        assert alone(*typed).returncode == 0
        end = os.times()  # of the processor: what else runs here does not count
        return end.children_user + end.children_system - begin.children_user - begin.children_system

    assert any(seconds() < most for _ in range(5))
