"""The JSON document of a run: its rows and all that is needed to judge them later. Valid whenever it is asked for.

What was added once is encoded once: a document is put together from texts.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from dpbench import __version__
from dpbench.results.doubt import Doubt
from dpbench.results.facts import RunFacts
from dpbench.results.phases import Breakdown, all_rows
from dpbench.results.raw import Raw
from dpbench.results.record import SCHEMA, Row
from dpbench.units import now

LISTS = ("plan", "groups", "rows", "warnings", "raw")
FACTS = ("run", "calibration", "options", "environment", "environment_after")
OF_GROUP = ("ranks", "members", "hosts", "per_node", "ring", "crossings", "crowded", "scopes", "floor_s")


class Document:
    """What is known so far."""

    def __init__(self, command: str) -> None:
        self.head: dict[str, Any] = {
            "schema": SCHEMA,
            "dpbench_version": __version__,
            "command": command,
            "started_at": now(),
            "finished_at": None,
            "complete": False,  # so it stays if the run fails
            "reason": None,
        }
        self.facts: dict[str, Any] = dict.fromkeys(FACTS)
        self.plan: list[str] = []
        self.groups: list[str] = []
        self.rows: list[str] = []
        self.warnings: list[str] = []
        self.raw: list[str] = []

    def begin(self, facts: RunFacts, background: Mapping[str, Any]) -> None:
        """Take what is known before the first size: the facts, the plan, the environment."""
        run = asdict(facts)
        self.head["started_at"] = run["started_at"]
        others = {name: value for name, value in background.items() if name != "plan"}
        self.facts |= {"calibration": run.pop("links"), "run": run, **others}
        self.plan = [encoded(each) for each in background.get("plan", ())]

    def group(self, facts: RunFacts) -> None:
        """Take what is known before the first size of some ranks."""
        group = asdict(facts)
        links = group.pop("links")
        self.groups.append(encoded({name: group[name] for name in OF_GROUP} | {"calibration": links}))
        # Of the last and largest group, which is all ranks unless less were asked for.
        self.facts |= {"calibration": links, "run": (self.facts["run"] or {}) | {"floor_s": facts.floor_s}}

    def add(self, parts: Iterable[Breakdown]) -> None:
        """Take the rows of a size, what their warnings say, and their raw times."""
        parts = list(parts)
        self.rows += [encoded(row_of(row)) for row in all_rows(parts)]
        self.warnings += [encoded(warning_of(each.row, doubt)) for each in parts for doubt in each.doubts]
        self.raw += [encoded(raw_of(each.row, each.raw)) for each in parts if each.raw is not None]

    def end(self, reason: str | None, after: Iterable[Mapping[str, Any]] = ()) -> None:
        """Note that nothing follows, and the state of the nodes; a `reason` says why not all is there."""
        self.facts["environment_after"] = list(after)
        self.head |= {"finished_at": now(), "complete": reason is None, "reason": reason}

    def text(self) -> str:
        """Return the document: a line for each fact, row and case."""
        members = {name: encoded(value) for name, value in {**self.head, **self.facts}.items()}
        members |= {name: listed(getattr(self, name)) for name in LISTS}
        return "{\n" + ",\n".join(f"{encoded(name)}: {value}" for name, value in members.items()) + "\n}\n"


def row_of(row: Row) -> dict[str, Any]:
    """Return the columns of the CSV; null is what is not measured or not defined: never nan or inf."""
    return {name: finite(value) for name, value in asdict(row).items()}


def finite(value: Any) -> Any:
    """Return the value, or None for a number that is none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def case_of(row: Row) -> dict[str, Any]:
    """Return what tells which row of the run it is."""
    return {name: getattr(row, name) for name in ("strategy", "operation", "ranks", "device", "bytes")}


def warning_of(row: Row, doubt: Doubt) -> dict[str, Any]:
    """Return what a code of a row means."""
    return {**case_of(row), "code": doubt.code, "cause": doubt.cause, "advice": doubt.advice}


def raw_of(row: Row, raw: Raw) -> dict[str, Any]:
    """Return the raw times of a case, with what tells which case it is, and how much slower it began."""
    times = {"first_s": raw.first, "warmups_s": raw.warmups, "samples_s": raw.samples}
    cold = raw.cold_s / row.time_median_s if raw.cold_s and row.time_median_s else None
    known = {"first_over_median": cold, "exchanges_per_sample": raw.stream}
    return {**case_of(row), **known, **{name: each.figures() for name, each in times.items()}}


def listed(texts: list[str]) -> str:
    """Return a list of encoded values, one a line."""
    return "[\n" + ",\n".join(texts) + "\n]" if texts else "[]"


def encoded(value: Any) -> str:
    """Return a value as JSON on one line, in ASCII."""
    return json.dumps(value, allow_nan=False)
