"""Whether this machine can have a lab, and how its namespaces are opened; else what is missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from dpbench.errors import PlatformError

TOOLS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "mount": "mount"}

OPEN = ("--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
AS_USER = ("unshare", "--user", "--map-root-user", *OPEN)
AS_ROOT = ("unshare", *OPEN)
TRIAL = ("mount", "-t", "sysfs", "sysfs", "/sys")  # what is least often allowed, and every node needs

# What forbids user namespaces: a setting, the value that does, and the one that does not.
SETTINGS = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "15000"),
)


def opening(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that runs another one in a lab's namespaces. Raises PlatformError if there is none."""
    if sys.platform != "linux":
        raise PlatformError(f"dpbench lab needs Linux and its network namespaces; this system is {sys.platform}")
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=environ["PATH"])]
    if missing:
        packages = " ".join(dict.fromkeys(TOOLS[tool] for tool in missing))
        raise PlatformError(f"dpbench lab needs {', '.join(missing)}: apt install {packages}")
    said = ""
    # Root keeps its rights over others' files if it stays out of a user namespace.
    for command in (AS_ROOT, AS_USER) if os.geteuid() == 0 else (AS_USER,):
        trial = subprocess.run(
            [*command, *TRIAL], env=environ, capture_output=True, text=True, errors="replace", check=False
        )
        if trial.returncode == 0:
            return command
        said = said or trial.stderr.strip()
    raise PlatformError(f"this machine forbids the namespaces of a lab ({said}); {remedy(Path('/proc/sys'))}")


def remedy(settings: Path) -> str:
    """Return what a user can do; the kernel's settings lie under `settings`."""
    for name, forbids, allows in SETTINGS:
        file = settings / name.replace(".", "/")
        if file.exists() and file.read_text().strip() == forbids:
            return f"run it as root, or let root do: sysctl -w {name}={allows}"
    return "run it as root; in a container, start that with --privileged"
