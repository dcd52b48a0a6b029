"""What two sides of a comparison do not have in common: rows, requests, and what became of them."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dpbench.results.circumstances import VARIABLE
from dpbench.results.compare import Comparison
from dpbench.results.observed import Identity, Observation
from dpbench.results.pairs import Side

WITHOUT_VALUE = {"--force", "--append", "-q", "--quiet", "--debug"}  #: options that only say where output goes
WITH_VALUE = {"--csv", "--json", "--raw"}
ADVICE = {"cadence": "; exchanges back to back overlap, and read faster by up to 2 times"}
LONGEST = 160  #: characters of a value that are shown
ROW_ONLY = {"strategy", "bytes", "phase"}  #: rows that differ in these were never meant to be the same


class Left(NamedTuple):
    """A row that a side has no time of, or not of all its launches."""

    what: str  #: such as "wrong in NEW"
    identity: Identity
    reason: str
    launches: tuple[int, int]  #: so many, of how many that have the row


def left_out(found: Comparison) -> Iterator[Left]:
    """Yield what is not compared: wrong and skipped rows, and those that only one side has."""
    for side, other in ((found.base, found.new), (found.new, found.base)):
        for identity, launches in side.rows.items():
            if identity.phase:
                continue
            for kind in ("wrong", "skipped"):
                untimed = [each for each in launches.values() if not each.timed and each.wrong == (kind == "wrong")]
                reasons = Counter(each.reason for each in untimed)
                for reason, count in reasons.items():
                    yield Left(f"{kind} in {side.name}", identity, reason, (count, len(launches)))
            if identity not in other.rows:
                yield Left(f"only in {side.name}", identity, "", (len(launches), len(launches)))


def requests(found: Comparison) -> Iterator[str]:
    """Yield a line for each request by which rows that only one side has differ from rows of the other side."""
    mine, others = only(found.base, found.new), only(found.new, found.base)
    differing: Counter[tuple[str, str, str]] = Counter()
    for one in mine:
        alike = [each for each in others if (each.strategy, each.bytes) == (one.strategy, one.bytes)]
        apart = sorted((list(unlike(one, each)) for each in alike), key=len)
        differing.update(apart[0] if apart else ())
    for (name, base, new), count in differing.items():
        rows = "1 row" if count == 1 else f"{count} rows"
        yield f"{name} differs in {rows}, not compared: BASE {base}, NEW {new}{ADVICE.get(name, '')}"


def only(side: Side, other: Side) -> list[Identity]:
    """Return the rows that the other side lacks; without phases."""
    return [identity for identity in side.rows if identity not in other.rows and not identity.phase]


def unlike(one: Identity, other: Identity) -> Iterator[tuple[str, str, str]]:
    """Yield the requests in which two rows differ, with both values."""
    for name, mine, others in zip(Identity._fields, one, other, strict=True):
        if mine != others and name not in ROW_ONLY:
            yield name, shown(mine), shown(others)


def outcomes(found: Comparison, label: Callable[[Identity], str]) -> Iterator[str]:
    """Yield a line for each fact in which rows that were compared differ, between the sides or within one."""
    pairs = [pair for pair in found.pairs if not pair.identity.phase]
    names = dict.fromkeys(name for pair in pairs for each in (*pair.base, *pair.new) for name in each.resolved)
    for name in names:
        values = [(pair, known(pair.base, name), known(pair.new, name)) for pair in pairs]
        differing = [(pair, base, new) for pair, base, new in values if len({*base, *new}) > 1]
        if not differing:
            continue
        first, base, new = differing[0]
        where = ""
        if any(tuple(others) != (base, new) for _, *others in differing) or len(differing) < len(pairs):
            more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
            where = f" of {label(first.identity)}{more}"
        yield f"{name}{where}: BASE {words(base)}; NEW {words(new)}"


def known(launches: Sequence[Observation], name: str) -> tuple[str, ...]:
    """Return the distinct values of a fact, as far as the files tell; of a command what it asked to be measured."""
    values = (each.resolved.get(name) or unset(name, each) for each in launches)
    return tuple(dict.fromkeys(measuring(value) if name == "command" else value for value in values if value))


def unset(name: str, observation: Observation) -> str:
    """Return what it means that a file does not tell a fact: a variable is not set where others are told."""
    return "not set" if name.startswith(VARIABLE) and "system" in observation.resolved else ""


def measuring(command: str) -> str:
    """Return a command without the options that only say where output goes."""
    try:
        typed = iter(shlex.split(command))
    except ValueError:
        return command
    kept = []
    for word in typed:
        if word in WITH_VALUE:
            next(typed, None)
        elif word not in WITHOUT_VALUE and word.partition("=")[0] not in WITH_VALUE:
            kept.append(word)
    return " ".join(kept)


def words(values: Sequence[str]) -> str:
    """Return values, in order, the long ones shortened."""
    return ", ".join(value if len(value) <= LONGEST else f"{value[:LONGEST]}…" for value in values) or "unknown"


def shown(value: object) -> str:
    """Return one value; what is empty says so."""
    return "none" if value in (None, "") else str(value)
