"""From -b, -e, -f, -i or --sizes to the sizes of a run."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dpbench.dtypes import DTYPES
from dpbench.errors import UsageError
from dpbench.units import format_size

MOST_SIZES = 1000
SHOWN = 3  #: sizes in a note


@dataclass(frozen=True)
class Sweep:
    """The options about sizes as typed; None is "not given"."""

    least: int | None = None
    most: int | None = None
    factor: float | None = None
    step: int | None = None
    exact: tuple[int, ...] | None = None

    def sizes(self, dtype: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the sizes, ascending, distinct and in whole elements, and a note if some were not."""
        itemsize = DTYPES[dtype].itemsize
        asked = sorted(set(self._typed() if self.exact is not None else self._range(itemsize)))
        if len(asked) > MOST_SIZES:
            raise UsageError(f"--sizes: {len(asked)} sizes are too many; at most {MOST_SIZES}")
        sizes = sorted({size - size % itemsize for size in asked})
        return tuple(sizes), _notes([size for size in asked if size % itemsize], itemsize, dtype)

    def _typed(self) -> Iterable[int]:
        if any(value is not None for value in (self.least, self.most, self.factor, self.step)):
            raise UsageError("--sizes gives the exact sizes; use it without -b, -e, -f and -i")
        return self.exact or ()

    def _range(self, itemsize: int) -> Iterable[int]:
        least = 4 * 2**10 if self.least is None else self.least
        most = 64 * 2**20 if self.most is None else self.most
        if most < least:
            sizes = f"-e/--max-bytes {format_size(most)} is less than -b/--min-bytes {format_size(least)}"
            raise UsageError(f"{sizes}; give both")
        if self.step is None:
            return _limited(_geometric(least, most, self.factor or 4.0, itemsize), "-f/--step-factor")
        if self.factor is not None:
            raise UsageError("-f/--step-factor multiplies and -i/--step-bytes adds; use one of them")
        return _limited(iter(range(least, most + 1, self.step)), "-i/--step-bytes")


def _geometric(least: int, most: int, factor: float, itemsize: int) -> Iterator[int]:
    """Yield `least` times the powers of `factor`; 0, which no factor moves, is followed by one element."""
    if least == 0:
        yield 0
        least = itemsize
    ratio = int(factor) if factor == int(factor) else factor  # integers stay exact at any size
    power = 0
    while (size := round(least * ratio**power)) <= most:
        yield size
        power += 1


def _limited(sizes: Iterator[int], option: str) -> list[int]:
    """Return the sizes; endless patience with a tiny step is nobody's wish."""
    taken = [size for size, _ in zip(sizes, range(MOST_SIZES + 1), strict=False)]
    if len(taken) > MOST_SIZES:
        raise UsageError(f"{option} gives more than {MOST_SIZES} sizes; take larger steps or a smaller range")
    return taken


def _notes(uneven: list[int], itemsize: int, dtype: str) -> tuple[str, ...]:
    if not uneven:
        return ()
    shown = ", ".join(map(format_size, uneven[:SHOWN])) + (", ..." if len(uneven) > SHOWN else "")
    return (f"rounded down to multiples of {itemsize} B ({dtype}): {shown}",)
