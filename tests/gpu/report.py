"""A program: `python report.py FOLDER` tells in a few lines what run.sh left there.

The exit code is 1 if a result was wrong, a job failed or nothing was measured.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

TARGET = 3  # times the staged rate, at the largest size, where UCX may use CUDA IPC
ENDINGS = {"0": "ok", "1": "wrong", "124": "timeout", "137": "timeout", "": "not run"}

Rows = list[dict[str, str]]


def read(path: Path) -> Rows:
    """Return the rows of a CSV file; none if it is not there."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def size(count: int) -> str:
    """Return bytes as people write them."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024 or unit == "MiB":
            break
        count //= 1024
    return f"{count} {unit}"


def verdicts(rows: Rows) -> Counter[str]:
    """Return how many rows were right, wrong and skipped."""
    words = {"ok": "ok", "warn": "ok", "invalid": "wrong", "skipped": "skipped"}
    return Counter(words[row["quality"]] for row in rows)


def pairs(rows: Rows) -> list[tuple[str, int, float, float]]:
    """Return strategy, size, direct and staged rate in GB/s, where there are both: of each strategy the largest."""
    rates = {
        (row["device"], row["strategy"], int(row["bytes"])): float(row["algbw_GB_per_s"])
        for row in rows
        if row["dtype"] == "float32" and row["algbw_GB_per_s"]
    }
    largest: dict[str, tuple[str, int, float, float]] = {}
    for (device, strategy, count), rate in sorted(rates.items()):
        staged = rates.get(("cuda-staged", strategy, count))
        if device == "cuda" and staged:
            largest[strategy] = (strategy, count, rate, staged)
    return list(largest.values())


def reasons(rows: Iterable[dict[str, str]]) -> list[str]:
    """Return why rows were skipped or are wrong, the most frequent first."""
    told = Counter(f"{row['strategy']} on {row['device']}: {row['reason']}" for row in rows if row["reason"])
    return [f"  {count} x {reason}" for reason, count in told.most_common()]


def report(folder: Path) -> int:
    """Print the report and return the exit code."""
    jobs = read(folder / "jobs.csv")
    names = dict.fromkeys((job["mpi"], job["transport"], job["ranks"]) for job in jobs)
    of = {
        (mpi, transport, ranks): [row for row in read(folder / f"{mpi}-{transport}.csv") if row["ranks"] == ranks]
        for mpi, transport, ranks in names
    }
    rows = [row for each in of.values() for row in each]
    for column in ("mpi_library", "scope"):
        print(f"{column}: {', '.join(dict.fromkeys(row[column] for row in rows))}")

    print(f"\n{'configuration':32} {'ok':>5} {'wrong':>5} {'skipped':>7}   jobs")
    for name in names:
        found = verdicts(of[name])
        ended = ", ".join(ending(job) for job in jobs if (job["mpi"], job["transport"], job["ranks"]) == name)
        print(f"{label(name):32} {found['ok']:5} {found['wrong']:5} {found['skipped']:7}   {ended}")
    print(*reasons(rows), sep="\n")

    print(f"\n{'float32, algbw in GB/s':32} {'strategy':11} {'size':>8} {'direct':>8} {'staged':>8}  times")
    for name in names:
        for strategy, count, direct, staged in pairs(of[name]):
            rates = f"{direct:8.3g} {staged:8.3g} {direct / staged:6.2f}"
            print(f"{label(name):32} {strategy:11} {size(count):>8} {rates}")
    print(f"\n{target([each for name in names if 'ipc' in name[1] for each in pairs(of[name])])}")
    return judge(jobs, rows, [row for name in names for row in of[name] if not belongs(row, name[0])])


def judge(jobs: Rows, rows: Rows, strangers: Rows) -> int:
    """Print the sum of it all and return the exit code."""
    found = verdicts(rows)
    failed = sum(job["exit_code"] != "0" for job in jobs)
    print(f"{found['ok']} ok, {found['wrong']} wrong, {found['skipped']} skipped; {failed} of {len(jobs)} jobs failed")
    if strangers:
        print(f"{len(strangers)} rows are not of the MPI library of their configuration")
    return int(bool(failed or strangers or found["wrong"] or not found["ok"]))


def belongs(row: dict[str, str], mpi: str) -> bool:
    """Return whether a row was measured with this MPI library."""
    return row["mpi_library"].replace(" ", "").lower().startswith(mpi)


def ending(job: dict[str, str]) -> str:
    """Return how a job ended and how long it took."""
    return f"{job['part']} {ENDINGS.get(job['exit_code'], 'failed, ' + job['exit_code'])} {job['seconds']} s"


def target(measured: list[tuple[str, int, float, float]]) -> str:
    """Return how many strategies reach the target through CUDA IPC."""
    if not measured:
        return "nothing measured with cuda_ipc"
    met = sum(direct >= TARGET * staged for _, _, direct, staged in measured)
    return f"with cuda_ipc direct is at least {TARGET} times staged in {met} of {len(measured)} rows"


def label(name: tuple[str, str, str]) -> str:
    """Return a configuration's name."""
    mpi, transport, ranks = name
    return f"{mpi}, {transport}, {ranks} ranks"


if __name__ == "__main__":
    sys.exit(report(Path(sys.argv[1])))
