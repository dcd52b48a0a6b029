"""The types of options that take names: what is not known is answered with what is."""

from collections.abc import Iterable
from difflib import get_close_matches

from dpbench.cli.values import Value
from dpbench.devices.inventory import DEVICES
from dpbench.dtypes import ALIASES, DTYPES
from dpbench.errors import UsageError


class Strategies(Value):
    """Names of strategies with commas between them."""

    def parse(self, text: str) -> tuple[str, ...]:
        """Return the names; each must be known."""
        from dpbench.strategies.registry import strategies

        return tuple(known(item, strategies(), "strategy") for item in text.split(","))


class DTypeName(Value):
    """The name of an element type, or an alias of one."""

    def parse(self, text: str) -> str:
        """Return the element type's own name."""
        name = known(text, [*DTYPES, *ALIASES], "dtype")
        return ALIASES.get(name, name)


class DeviceNames(Value):
    """Names of devices with commas between them, or `auto`."""

    def parse(self, text: str) -> tuple[str, ...]:
        """Return the names, each once."""
        names = [known(item, ("auto", *DEVICES, "gpu"), "device") for item in text.split(",")]
        distinct = tuple(dict.fromkeys("cuda" if name == "gpu" else name for name in names))
        if "auto" in distinct and len(distinct) > 1:
            raise UsageError(f"{text!r} is not allowed: auto stands alone, for it chooses one device")
        return distinct


class Word(Value):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        super().__init__("|".join(words))
        self.words = words

    def parse(self, text: str) -> str:
        """Return the word."""
        return known(text, self.words, "value")


def known(text: str, names: Iterable[str], kind: str) -> str:
    """Return the name that `text` is; raises UsageError with the known ones and the nearest of them."""
    name, names = text.strip().lower(), list(names)
    if name in names:
        return name
    near = get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"unknown {kind} {text.strip()!r}; known: {', '.join(names)}{hint}")
