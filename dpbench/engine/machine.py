"""What this machine is and does, as the kernel's files tell: read without starting a process, and never an error.

What a system does not tell is None or missing. `root` is for tests.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpbench.engine.hosts import allowed_cores, host_name
from dpbench.engine.limits import group_limits, groups, number, numbers, text_of
from dpbench.units import format_numbers

ROOT = Path("/")
INSIDE = ("lo", "veth", "docker", "br-", "virbr", "cni", "flannel", "cali", "tap")  # devices that end in this machine


def machine(root: Path = ROOT) -> dict[str, Any]:
    """Return the facts of this machine, as far as this process sees it."""
    return {
        "host": host_name(),
        "system": " ".join((os.uname().sysname, os.uname().release, os.uname().machine)),
        "glibc": glibc(),
        "cpu": cpu(root),
        "memory": memory(root),
        "network": [*ethernet(root), *infiniband(root)],
    }


def glibc() -> str | None:
    """Return the version of the C library, where it is GNU's."""
    with suppress(OSError, ValueError, AttributeError):
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        return version if name == "glibc" else None
    return None


def cpu(root: Path) -> dict[str, Any]:
    """Return what the processor is, and how much of it this process may have."""
    cores = sorted(allowed_cores())
    return {
        "model": cpu_model(text_of(root / "proc/cpuinfo")),
        "cores": os.cpu_count(),
        "allowed": format_numbers(cores),
        "allowed_count": len(cores),
        "quota_cores": quota(root),
        "throttled_periods": throttled(root),
        "governors": governors(root, cores),
        "load_1min": load(),
    }


def cpu_model(cpuinfo: str) -> str | None:
    """Return the model's name; of an ARM processor, which has none, the numbers of maker and part."""
    found = re.search(r"^(?:model name|cpu model|Model|cpu)\s*:\s*(\S.*)$", cpuinfo, re.MULTILINE)
    if found:
        return " ".join(found[1].split())
    arm = [re.search(rf"^CPU {what}\s*:\s*(\w+)$", cpuinfo, re.MULTILINE) for what in ("implementer", "part")]
    return " ".join(f"{what} {each[1]}" for what, each in zip(("ARM, maker", "part"), arm, strict=True) if each) or None


def governors(root: Path, cores: list[int]) -> list[str]:
    """Return by which rules the clocks of the allowed cores change, each once."""
    base = root / "sys/devices/system/cpu"
    texts = (text_of(base / f"cpu{core}/cpufreq/scaling_governor").strip() for core in cores)
    return list(dict.fromkeys(filter(None, texts)))


def load() -> float | None:
    """Return how many processes want to run, over the last minute."""
    with suppress(OSError, AttributeError):
        return round(os.getloadavg()[0], 2)
    return None


def quota(root: Path) -> float | None:
    """Return the time of how many cores the control groups grant; None where they set no limit."""
    found = []
    for folder, version in groups(root, "cpu"):
        if version == 2:
            runtime, _, period = text_of(folder / "cpu.max").strip().partition(" ")
        else:
            runtime, period = (text_of(folder / f"cpu.cfs_{what}_us").strip() for what in ("quota", "period"))
        if runtime.isdigit() and period.isdigit() and int(period):
            found.append(int(runtime) / int(period))
    return min(found, default=None)


def throttled(root: Path) -> int | None:
    """Return in how many periods a control group had no time left; only an increase says something."""
    found = (numbers(folder / "cpu.stat").get("nr_throttled") for folder, _ in groups(root, "cpu"))
    return max((each for each in found if each is not None), default=None)


def memory(root: Path) -> dict[str, Any]:
    """Return the bytes that there are, that are free, and that the control groups leave."""
    info = numbers(root / "proc/meminfo", unit=1024)
    left = [left for _, left in group_limits(root)]
    return {
        "total_bytes": info.get("MemTotal"),
        "available_bytes": info.get("MemAvailable"),
        "left_in_group_bytes": min(left, default=None),
    }


def ethernet(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the network devices, but those that only join programs of this machine."""
    for folder in children(root / "sys/class/net"):
        if folder.name.startswith(INSIDE):
            continue
        speed = number(folder / "speed")  # of what is down or has none, it cannot be read or is -1
        yield {
            "device": folder.name,
            "state": text_of(folder / "operstate").strip() or None,
            "speed_bit_per_s": speed * 10**6 if speed else None,
        }


def infiniband(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the ports of InfiniBand and RoCE adapters."""
    for adapter in children(root / "sys/class/infiniband"):
        for port in children(adapter / "ports"):
            rate = re.match(r"([\d.]+) Gb/sec", text_of(port / "rate"))
            yield {
                "device": f"{adapter.name}:{port.name}",
                "state": text_of(port / "state").strip().partition(": ")[2].lower() or None,
                "speed_bit_per_s": int(float(rate[1]) * 1e9) if rate else None,
                "link_layer": text_of(port / "link_layer").strip() or None,
            }


def children(folder: Path) -> list[Path]:
    """Return what is in a folder, sorted; nothing if there is none, or it may not be read."""
    with suppress(OSError):
        return sorted(folder.iterdir())
    return []
