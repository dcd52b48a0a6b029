"""The files that results go to, as the options name them."""

import os

from dpbench.errors import UsageError
from dpbench.results.outfile import STDOUT


def require_one_use_of_each_file(csv: str | None, json: str | None, force: bool, append: bool) -> None:
    """Raise UsageError unless --csv, --json, --force and --append fit together."""
    for option, path in (("--csv", csv), ("--json", json)):
        if path == "":
            raise UsageError(f"{option} '' names no file; give a path, or - for stdout")
    if csv is not None and json is not None and os.path.realpath(csv) == os.path.realpath(json):
        raise UsageError(f"--csv and --json both name {csv}; give each a file of its own")
    if force and append:
        raise UsageError("--force overwrites the file of --csv, --append continues it; use one of them")
    if append and csv in (None, STDOUT):
        whole = "; a document of --json cannot be continued" if json is not None else ""
        raise UsageError(f"--append needs a file; add --csv FILE{whole}")
    if force and csv in (None, STDOUT) and json in (None, STDOUT):
        raise UsageError("--force needs a file; add --csv FILE or --json FILE")


def has_files(csv: str | None, json: str | None) -> bool:
    """Return whether any file shall be complete, whoever reads the tables."""
    return any(path not in (None, STDOUT) for path in (csv, json))
