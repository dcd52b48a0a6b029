"""From the command line to `Options`: what is accepted, what it means, and what is refused."""

import sys
from typing import Any

import click
import pytest

from dpbench import cli
from dpbench.cli.run import options_from, run, without_ranks
from dpbench.errors import Exit, UsageError
from dpbench.measure.options import Options

SIZE_OPTIONS = ("-b", "-e", "-i", "--min-bytes", "--max-bytes", "--step-bytes", "--sizes", "--server-buffer")


def parse(*typed: str) -> Options:
    given: dict[str, Any] = run.make_context("run", list(typed)).params
    given.pop("ranks")
    return options_from(typed, **given)


def refusal(*typed: str) -> str:
    with pytest.raises((UsageError, click.UsageError)) as caught:
        parse(*typed)
    return caught.value.format_message() if isinstance(caught.value, click.UsageError) else str(caught.value)


def test_without_options_the_defaults_hold() -> None:
    sizes = tuple(4096 * 4**power for power in range(8))
    assert parse() == Options(command="dpbench", sizes=sizes)
    assert sizes[-1] == 64 * 2**20


def test_every_option_arrives() -> None:
    typed = "-s ring,mpi -s ps -b 8 -e 64 -f 2 -d bf16 -n 5 -w 0 --max-time 0.5 -c 0 --servers 2"
    typed += " --dedicated-servers --slices 4 --window 3 --server-buffer 1M --phases --csv out.csv --json out.json"
    typed += " --raw all --strict --force --seed 9 -q"
    assert parse(*typed.split()) == Options(
        command=f"dpbench {typed}",
        strategies=("ring", "mpi", "ps"),
        sizes=(8, 16, 32, 64),
        dtype="bfloat16",
        iters=5,
        warmup=0,
        max_time=0.5,
        check=False,
        servers=2,
        dedicated=True,
        slices=4,
        window=3,
        phases=True,
        server_buffer=2**20,
        csv="out.csv",
        json="out.json",
        raw="all",
        strict=True,
        force=True,
        seed=9,
        quiet=True,
    )


def test_habits_of_nccl_tests_are_accepted() -> None:
    typed = "-b 8 -e 16G -f 2 -n 100 -c 1 -g 1 -t 1 -o sum -w 5 -d float"
    options = parse(*typed.split())
    assert options.sizes == tuple(2**power for power in range(3, 35))
    assert (options.iters, options.check, options.dtype) == (100, True, "float32")


@pytest.mark.parametrize(
    ("option", "value", "instead"),
    [("-g", "2", "mpirun -n"), ("-t", "4", "mpirun -n"), ("-o", "max", "summed"), ("-g", "x", "mpirun -n")],
)
def test_what_only_nccl_tests_can_do_names_the_equivalent(option: str, value: str, instead: str) -> None:
    message = refusal(option, value)
    assert option in message
    assert repr(value) in message
    assert instead in message


@pytest.mark.parametrize("option", SIZE_OPTIONS)
@pytest.mark.parametrize("value", ["banana", "-1", "", "9e99", "0.3", "nan", "inf", "4KK"])
def test_no_size_option_takes_what_is_no_size(option: str, value: str) -> None:
    message = refusal(option, value)
    assert option in message
    assert repr(value) in message


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("8G", 2**33),
        ("8g", 2**33),
        ("8GiB", 2**33),
        ("8GB", 8 * 10**9),
        ("0.5M", 2**19),
        ("1e6", 10**6),
        ("2 M", 2**21),
    ],
)
def test_every_size_option_takes_the_same_sizes(value: str, size: int) -> None:
    assert parse("--sizes", value).sizes == (size,)
    assert parse("-b", value, "-e", "16G").sizes[0] == size
    assert parse("-b", "8", "-e", value, "-f", "2").sizes[-1] == 1 << (size.bit_length() - 1)
    assert parse("-b", "0", "-e", value, "-i", value).sizes == (0, size)
    assert parse("--server-buffer", value).server_buffer == size


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("-b 8K -e 4K", ["-e", "-b", "8 KiB", "4 KiB"]),
        ("-b 128M", ["64 MiB", "128 MiB"]),
        ("-f 1", ["-f", "'1'", "above 1"]),
        ("-f 0.5", ["-f", "above 1"]),
        ("-f nan", ["-f", "above 1"]),
        ("-f inf", ["-f", "above 1"]),
        ("-i 0", ["-i", "at least 1"]),
        ("-f 2 -i 4K", ["-f", "-i"]),
        ("-f 1.0001", ["-f", "1000"]),
        ("-i 1", ["-i", "1000"]),
        ("--sizes 4K -b 8", ["--sizes", "-b"]),
        ("--sizes 4K -f 2", ["--sizes", "-f"]),
        ("-s ringg", ["-s", "'ringg'", "known: mpi, mpi-out, ps, ring, sharded-ps", "did you mean ring?"]),
        ("-s ring,", ["-s", "''", "known"]),
        ("-d flaot32", ["-d", "'flaot32'", "did you mean float32?"]),
        ("--device tpu", ["--device", "'tpu'", "cpu"]),
        ("-n 0", ["-n", "'0'", "from 1"]),
        ("-n 1.5", ["-n", "'1.5'"]),
        ("-n 9e99", ["-n", "'9e99'"]),
        ("-w -1", ["-w", "'-1'", "from 0"]),
        ("--max-time 0", ["--max-time", "above 0"]),
        ("--max-time inf", ["--max-time", "above 0"]),
        ("--max-time soon", ["--max-time", "'soon'"]),
        ("-c 2", ["-c", "'2'", "0 or 1"]),
        ("--servers 0", ["--servers", "'0'", "from 1"]),
        ("--slices 0", ["--slices", "'0'", "auto", "from 1"]),
        ("--slices many", ["--slices", "'many'", "auto"]),
        ("--window 0", ["--window", "'0'", "from 1"]),
        ("--textbook --slices 2", ["--textbook", "--slices 2"]),
        ("--textbook --slices auto", ["--textbook", "--slices auto"]),
        ("--server-buffer 0", ["--server-buffer", "'0'", "at least 1"]),
        ("--seed x", ["--seed", "'x'"]),
        ("--force", ["--force", "--csv"]),
        ("--append", ["--append", "--csv"]),
        ("--csv - --append", ["--append", "--csv"]),
        ("--json - --force", ["--force", "--json FILE"]),
        ("--json f --append", ["--append", "--csv", "a document of --json cannot be continued"]),
        ("--json - --csv -", ["--json", "--csv", "both name -"]),
        ("--json f --csv ./f", ["--json", "--csv", "both name ./f"]),
        ("--json f --csv f --raw some", ["--raw", "all"]),
        ("--csv f --force --append", ["--force", "--append"]),
        ("--ranks 0", ["--ranks", "'0'", "from 1"]),
        ("--unknown", ["--unknown"]),
        ("-b", ["-b", "argument"]),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(typed: str, words: list[str]) -> None:
    message = refusal(*typed.split())
    assert all(word in message for word in words), message


def test_a_file_without_a_name_is_refused() -> None:
    assert "--csv ''" in refusal("--csv", "")


@pytest.mark.parametrize(
    ("typed", "sizes"),
    [
        ("-b 0 -e 0", (0,)),
        ("-b 0 -e 64 -f 4", (0, 4, 16, 64)),
        ("-b 0 -e 2 -f 4", (0,)),
        ("-b 0 -e 64 -f 4 -d double", (0, 8, 32)),
        ("-b 0 -e 12K -i 4K", (0, 4096, 8192, 12288)),
        ("-b 4K -e 4K", (4096,)),
        ("-b 40 -e 1000 -f 1.5", (40, 60, 88, 132, 200, 304, 456, 680)),
        ("-b 10 -e 20 -f 1.7 -d uint8", (10, 17)),
        ("--sizes 1M,4,4,1K", (4, 1024, 2**20)),
        ("--sizes 5,6,7,8", (4, 8)),
        ("--sizes 3", (0,)),
    ],
)
def test_a_sweep_has_ascending_distinct_whole_elements(typed: str, sizes: tuple[int, ...]) -> None:
    assert parse(*typed.split()).sizes == sizes


def test_what_was_rounded_is_said() -> None:
    assert parse("--sizes", "8,16").notes == ()
    assert parse("--sizes", "5,8,1001,1MB,1023,2047").notes == (
        "rounded down to multiples of 4 B (float32): 5 B, 1001 B, 1023 B, ...",
    )


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", "float32"),
        ("fp32", "float32"),
        ("half", "float16"),
        ("FP16", "float16"),
        ("double", "float64"),
        ("bf16", "bfloat16"),
        ("int32", "int32"),
        ("int64", "int64"),
        ("uint8", "uint8"),
    ],
)
def test_dtypes_have_the_usual_names(name: str, dtype: str) -> None:
    assert parse("-d", name).dtype == dtype


def test_a_strategy_named_twice_runs_once_in_the_order_typed() -> None:
    assert parse("-s", "ring,ps", "-s", "PS, mpi").strategies == ("ring", "ps", "mpi")


def test_textbook_is_one_slice() -> None:
    assert parse("--textbook").slices == parse("--textbook", "--slices", "1").slices == 1
    assert parse("--slices", "auto").slices is None


def test_devices_are_a_comma_list_and_gpu_is_cuda() -> None:
    assert parse("--device", "gpu, cuda-staged,cuda").devices == ("cuda", "cuda-staged")
    assert parse().devices == ("auto",)
    assert "auto stands alone" in refusal("--device", "auto,cpu")


def test_the_record_of_the_command_is_text_whatever_was_typed() -> None:
    assert parse("--csv", "a b").command == "dpbench --csv 'a b'"
    parse("--csv", "\udcff").command.encode("utf-8")


@pytest.mark.parametrize("typed", ["--ranks 4 -b 8", "run -b 8 --ranks=4", "run --ranks 4 -b 8"])
def test_ranks_get_the_options_without_their_number(typed: str) -> None:
    assert without_ranks("run", typed.split()) == ["run", "-b", "8"]
    assert without_ranks("step", ["step", "--ranks", "4", "--lr", "1"]) == ["step", "--lr", "1"]


def test_a_fault_of_dpbench_is_shown_and_is_no_wrong_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpbench.cli.run.options_from", lambda typed, **given: 1 // 0)
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    assert cli.main(["run"]) == Exit.FAILED
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_mistake_is_one_message_and_a_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["-d", "float31"]) == Exit.USAGE
    assert capsys.readouterr().err == (
        "dpbench: Invalid value for '-d' / '--dtype': unknown dtype 'float31'; known: float32, float16, "
        "bfloat16, float64, int32, int64, uint8, float, fp32, half, fp16, double, fp64, bf16; "
        "did you mean float32?\n"
        "Try 'dpbench run --help'.\n"
    )
    monkeypatch.setattr(sys, "argv", ["dpbench", "--csv", ""])
    assert cli.main() == Exit.USAGE
    assert capsys.readouterr().err == "dpbench: --csv '' names no file; give a path, or - for stdout\n"


def test_a_step_can_be_strict_too_and_the_help_says_what_that_means(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "step"):
        assert cli.main([command, "--help"]) == 0
        assert "Exit code 5 instead of 0 if a row has a warning" in " ".join(capsys.readouterr().out.split())


def test_a_process_that_a_launcher_started_is_told_why_it_starts_no_ranks_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}.items():
        monkeypatch.setenv(name, value)
    assert cli.main(["run", "--ranks", "2"]) == Exit.USAGE
    assert capsys.readouterr().err == (
        "dpbench: --ranks 2: a launcher has started this process already (SLURM_PROCID is set): give it the number of "
        "ranks; or, where it started one task only, leave it behind: env -u SLURM_PROCID dpbench --ranks 2 ...\n"
    )
