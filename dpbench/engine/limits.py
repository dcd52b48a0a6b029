"""How much memory this process can still get, and with whom it shares that: the machine's, and its control groups'."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dpbench.engine.hosts import machine_identity
from dpbench.environment import rank_hint, size_hint
from dpbench.hooks import value_of

CGROUPS = "sys/fs/cgroup"
MEMORY_FILES = {  # by version
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}
UNLIMITED = 2**60  # version 1 has no word for it, but a very large number


def memory_left(root: Path = Path("/")) -> dict[str, int]:
    """Return the bytes that can be had without swapping, from each pool that this process shares with others.

    Pools of different processes are the same if their names are. Empty where the system does not tell. `root` is for
    tests.
    """
    machine = machine_identity()
    info = numbers(root / "proc/meminfo", unit=1024)
    whole = {machine: info["MemAvailable"]} if "MemAvailable" in info else {}
    if planted := value_of("memory", rank_hint(), size_hint()):
        whole[machine] = int(planted)
    return whole | {f"{machine} {folder.stat().st_ino}": left for folder, left in group_limits(root)}


def group_limits(root: Path) -> Iterator[tuple[Path, int]]:
    """Yield each control group around this process that has a limit, and the bytes left below it.

    A group's limit holds for all groups within it. What is only cached from files counts as free: the kernel gives
    that up first.
    """
    for folder, version in groups(root, "memory"):
        names = MEMORY_FILES[version]
        limit, used = (number(folder / name) for name in names[:2])
        if limit is not None and used is not None and limit < UNLIMITED:
            yield folder, max(0, limit - used + numbers(folder / "memory.stat").get(names[2], 0))


def groups(root: Path, controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the folders of the control groups around this process that may limit something, and their version."""
    for line in text_of(root / "proc/self/cgroup").splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if hierarchy == "0" and not controllers:
            base, version = root / CGROUPS, 2
        elif controller in controllers.split(","):
            base, version = root / CGROUPS / controller, 1
        else:
            continue
        inside = Path(path.lstrip("/"))
        for folder in dict.fromkeys([base / inside, *(base / parent for parent in inside.parents), base]):
            yield folder, version


def text_of(path: Path) -> str:
    """Return what a file says; nothing if there is none, or it may not be read."""
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text()
    return ""


def number(path: Path) -> int | None:
    """Return the number in a file; None if there is no file or it says otherwise, as `max`."""
    text = text_of(path).strip()
    return int(text) if text.isdigit() else None


def numbers(path: Path, unit: int = 1) -> dict[str, int]:
    """Return the numbers of a file whose lines are a name, a colon perhaps, and a number of `unit` bytes."""
    words = [line.split() for line in text_of(path).splitlines()]
    return {each[0].rstrip(":"): int(each[1]) * unit for each in words if len(each) > 1 and each[1].isdigit()}
