"""How the rows of a comparison are called: by strategy and size, and by whatever else tells them apart."""

from collections.abc import Iterable

from dpbench.results.observed import Identity
from dpbench.units import format_size

OF_A_ROW = ("workers", "servers", "dedicated", "slices_requested")  #: what differs between rows of one table
VARYING = tuple(name for name in Identity._fields if name not in ("strategy", "bytes", "phase"))
OF_A_TABLE = tuple(name for name in VARYING if name not in OF_A_ROW)


class Labels:
    """Names for rows, short where all rows agree."""

    def __init__(self, identities: Iterable[Identity]) -> None:
        values: dict[tuple[object, ...], set[object]] = {}
        for each in identities:
            for name in VARYING:
                alike = (each.strategy, each.phase, each.ranks) if name in OF_A_ROW else ()
                values.setdefault((name, each.bytes, *alike), set()).add(getattr(each, name))
        self.varying = {name for (name, *_), found in values.items() if len(found) > 1}

    def full(self, identity: Identity) -> str:
        """Return the name of a row anywhere."""
        told = [identity.strategy, format_size(identity.bytes), *self._told(identity, VARYING)]
        return " ".join(told)

    def within(self, identity: Identity) -> str:
        """Return the name of a row within its table; that of a phase is indented."""
        told = " ".join([identity.strategy, *self._told(identity, OF_A_ROW)])
        return f"  {identity.phase}" if identity.phase else told

    def table(self, identity: Identity) -> str:
        """Return what tells the table of a row from others of its size, or nothing."""
        return ", ".join(self._told(identity, OF_A_TABLE))

    def _told(self, identity: Identity, names: Iterable[str]) -> list[str]:
        return [f"{name} {shown(getattr(identity, name))}" for name in names if name in self.varying]


def shown(value: object) -> object:
    """Return a value; what is empty says so."""
    return "none" if value in (None, "") else value
