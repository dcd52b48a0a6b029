"""What `dpbench env` prints for people: a line per fact, then what is to be done about them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dpbench.units import format_size

NONE = "n/a"
DEVICES_SHOWN = 16


def lines(found: Mapping[str, Any], findings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines, for `Screen.print`."""
    mpi = found["mpi"]
    yield f"dpbench {found['packages']['dpbench']} on {found['host']}"
    yield f"system\t{found['system']}, glibc {shown(found['glibc'])}"
    yield f"Python\t{found['python']}, {found['python_path']}"
    others = {name: text for name, text in found["packages"].items() if name != "dpbench"}
    yield f"packages\t{', '.join(f'{name} {shown(text)}' for name, text in others.items())}"
    first, *rest = (mpi["library"] or NONE).splitlines()
    yield f"MPI\t{first}"
    yield from (f"\t{each}" for each in rest)
    yield f"\tlibrary {shown(mpi['path'])}"
    yield f"\tlauncher {shown(mpi['launcher'])}"
    yield f"launched\t{found['launched'] or 'by no launcher'}"
    yield from cores(found["cpu"])
    yield f"memory\t{memory(found['memory'])}"
    yield from gpus(found["gpus"], found["cuda"])
    yield from network(found["network"])
    yield from titled("variables", [f"{name}={value}" for name, value in found["variables"].items()])
    yield ""
    for fact, advice in findings:
        yield f"note\t{fact}"
        yield f"\t-> {advice}"


def cores(cpu: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about the processor."""
    yield f"CPU\t{shown(cpu['model'])}"
    quota = "no quota" if cpu["quota_cores"] is None else f"time of {cpu['quota_cores']:g} granted"
    yield f"cores\t{cpu['allowed_count']} of {shown(cpu['cores'])} allowed ({cpu['allowed']}), {quota}"
    yield f"\tload {shown(cpu['load_1min'])}, governor {', '.join(cpu['governors']) or NONE}"


def memory(found: Mapping[str, int | None]) -> str:
    """Return what is said about memory."""
    total, free, left = (found[name] for name in ("total_bytes", "available_bytes", "left_in_group_bytes"))
    limit = "" if left is None else f", {size(left)} left in the control group"
    return f"{size(total)}, {size(free)} available{limit}"


def gpus(found: Iterable[Mapping[str, Any]], cuda: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about GPUs."""
    yield from titled(
        "GPU",
        [
            f"{gpu['index']}: {shown(gpu.get('name'))}, driver {shown(gpu.get('driver'))}, "
            f"{shown(gpu.get('clock_MHz'))} MHz, {shown(gpu.get('uuid'))}"
            for gpu in found
        ],
    )
    taken = shown(cuda["mpi_takes_gpu_memory"])
    yield f"cuda\t{'usable' if cuda['usable'] else cuda['obstacle']}; MPI with GPU memory, a trial: {taken}"


def network(devices: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines about network devices."""
    texts = []
    for each in devices:
        rate = each["speed_bit_per_s"]
        speed = f"{rate / 1e9:g} Gbit/s" if rate else "speed n/a"
        texts.append(f"{each['device']} {shown(each['state'])}, {speed}")
    more = [f"... and {len(texts) - DEVICES_SHOWN} more"] if len(texts) > DEVICES_SHOWN else []
    yield from titled("network", texts[:DEVICES_SHOWN] + more)


def titled(title: str, texts: list[str]) -> Iterator[str]:
    """Yield the texts, one a line, the first beside the title."""
    yield from (f"{'' if index else title}\t{text}" for index, text in enumerate(texts or [NONE]))


def shown(value: Any) -> str:
    """Return a value, or that it is not known."""
    return NONE if value is None else str(value)


def size(value: int | None) -> str:
    """Return bytes in a unit that reads well, rounded."""
    if value is None:
        return NONE
    unit = 2**30 if value >= 2**30 else 2**20
    return format_size(value // unit * unit)
