"""Memory limits of the machine and of control groups, read from files like the kernel's."""

from pathlib import Path

import pytest

from dpbench.engine.limits import memory_left

MEMINFO = "MemTotal:       1000 kB\nMemAvailable:    800 kB\nHugePages_Total:       0\n"
V2 = ("memory.max", "memory.current", "inactive_file")
GROUPS = "sys/fs/cgroup"
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def system(root: Path, groups: str, meminfo: str = MEMINFO) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(meminfo)
    (root / "proc/self/cgroup").write_text(groups)
    return root


def group(folder: Path, names: tuple[str, str, str], limit: int | str, used: int, cached: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\n{names[2]} {cached}\n")


def lefts(root: Path) -> list[int]:
    return list(memory_left(root).values())


def test_without_groups_the_machine_is_the_limit(tmp_path: Path) -> None:
    assert lefts(system(tmp_path, "0::/\n")) == [800 * 1024]


@pytest.mark.parametrize(("line", "base", "names"), [("0::/job/step", "", V2), ("4:memory:/job/step", "memory/", V1)])
def test_the_limits_of_all_groups_around_count_and_cached_files_are_free(
    line: str, base: str, names: tuple[str, str, str], tmp_path: Path
) -> None:
    root = system(tmp_path, f"9:pids:/other\n{line}\n")
    group(root / GROUPS / base / "job", names, limit=1000, used=700, cached=100)
    group(root / GROUPS / base / "job/step", names, limit=500, used=100)
    assert lefts(root) == [800 * 1024, 400, 400]
    assert len(memory_left(root)) == 3  # pools of their own


@pytest.mark.parametrize("limit", ["max", 2**63 - 4096])
def test_no_limit_is_none(limit: str | int, tmp_path: Path) -> None:
    root = system(tmp_path, "0::/job\n4:memory,cpu:/job\n")
    group(root / GROUPS / "job", V2, limit, used=1)
    group(root / GROUPS / "memory/job", V1, limit, used=1)
    assert lefts(root) == [800 * 1024]


def test_a_container_that_does_not_see_its_own_path_has_the_limit_of_the_root(tmp_path: Path) -> None:
    root = system(tmp_path, "4:memory:/docker/0123\n")
    group(root / GROUPS / "memory", V1, limit=300, used=400)
    assert lefts(root) == [800 * 1024, 0]


def test_a_system_that_does_not_tell_sets_no_limit(tmp_path: Path) -> None:
    assert memory_left(tmp_path) == {}


def test_this_machine_tells() -> None:
    assert all(left > 0 for left in memory_left().values())
