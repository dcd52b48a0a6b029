"""Process 1 of a lab's namespaces: lays the lab out, runs a command on node 1 and ends. All else ends with it.

    python -m dpbench.lab.inside LIFELINE LAYOUT COMMAND...

LIFELINE is a pipe to read from, whose other end only the process outside holds: it closes when that one ends, however.
"""

import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

from dpbench.errors import Exit, PlatformError
from dpbench.lab.launching import AGENT, ENTER, FOLDER, HOSTS, files
from dpbench.lab.layout import Layout, name
from dpbench.lab.network import node_script, switch_script

CUT = 128 + signal.SIGKILL


def main(lifeline: int, layout: Layout, command: Sequence[str]) -> int:
    """Lay out the lab, run the command and return its exit code."""
    os.set_inheritable(lifeline, False)
    threading.Thread(target=end_with, args=[lifeline], daemon=True).start()
    # A terminal's Ctrl-C reaches the process outside too, which decides. Not ignored: programs would inherit that.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        lay_out(layout)
    except PlatformError as error:
        print(f"dpbench: {error}", file=sys.stderr)
        return Exit.ENVIRONMENT
    print(layout.describe(), file=sys.stderr, flush=True)
    return run([str(ENTER), name(1), *command])


def end_with(lifeline: int) -> None:
    """End this process, and with it the lab, as soon as the lifeline is cut."""
    os.read(lifeline, 1)
    os._exit(CUT)


def lay_out(layout: Layout) -> None:
    """Make the lab's files, its nodes and their network. Raises PlatformError if the kernel refuses."""
    do("mount", "-t", "tmpfs", "tmpfs", str(FOLDER))
    for path, text in files(layout).items():
        path.write_text(text)
    for program in (ENTER, AGENT):
        program.chmod(0o755)
    do("mount", "--bind", str(HOSTS), "/etc/hosts")
    for node in layout.numbers:
        (FOLDER / name(node)).mkdir()
        socket.sethostname(name(node))  # the new namespace begins with it
        namespaces = {kind: FOLDER / f"{name(node)}.{kind}" for kind in ("net", "uts")}
        for file in namespaces.values():
            file.touch()
        kept = [f"--{kind}={file}" for kind, file in namespaces.items()]
        do("unshare", *kept, "sh", "-e", script=node_script(layout, node))
    socket.sethostname("switch")
    do("sh", "-e", script=switch_script(layout))


def do(*command: str, script: str = "") -> None:
    """Run a program with a script on its stdin. Raises PlatformError with what it said if it fails."""
    done = subprocess.run(command, input=script, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
        raise PlatformError(f"the lab cannot be laid out: {shlex.join(command)}: {said}")


def run(command: Sequence[str]) -> int:
    """Run a command, collect what other processes leave to process 1, and return the command's exit code."""
    child = subprocess.Popen(command).pid
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Layout.from_json(sys.argv[2]), sys.argv[3:]))
