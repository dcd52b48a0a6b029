"""How the parts of a drawn schedule are called, in text and in pictures: ranks, chunks, sums, amounts."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpbench.report.header import count
from dpbench.schedule.draw import Drawing
from dpbench.schedule.faults import ranks_of
from dpbench.schedule.round import Op
from dpbench.units import format_numbers

GAP = "  "  #: between columns
OPS: dict[Op, str] = {"first": "added", "add": "added", "replace": "replaces"}


def ranks(values: Iterable[int]) -> str:
    """Return `rank 3`, `ranks 0-3` or, where naming them would take long, `32 ranks`."""
    values = list(values)
    text = format_numbers(values)
    if text.count(",") > 3:
        return count(len(values), "rank")
    return f"{'rank' if len(values) == 1 else 'ranks'} {text}"


def chunks(drawing: Drawing, which: range) -> str:
    """Return `chunk 2`, `chunks 2-3`, or `gradient` for all of it."""
    if len(which) == len(drawing.chunks):
        return "gradient"
    return f"{'chunk' if len(which) == 1 else 'chunks'} {format_numbers(which)}"


def amount(elements: int, gradient: int) -> str:
    """Return elements as a multiple of S, the bytes of a gradient: `S/4`, `S`, `3 S`, `1.50 S`."""
    share = Fraction(elements, gradient)
    if share.numerator == 1:
        return "S" if share == 1 else f"S/{share.denominator}"
    return f"{share} S" if share.denominator == 1 else f"{float(share):.2f} S"


def multiple(elements: int, gradient: int) -> str:
    """Return elements as a multiple of S to compare with others: `1.50 S`."""
    return f"{elements / gradient:.2f} S"


def sum_of(mask: int, everyone: int) -> str:
    """Return whose gradients are summed: `0+3`, `all`, or `-` for nobody's."""
    return "all" if mask == everyone else "+".join(map(str, ranks_of(mask))) or "-"


def share_of(mask: int, everyone: int) -> str:
    """Return how many of all gradients are summed: `2/8`, `all`, or `-` for none."""
    return "all" if mask == everyone else f"{mask.bit_count()}/{everyone.bit_count()}" if mask else "-"


def cut(drawing: Drawing) -> str:
    """Return into what the gradient is cut: `, in 4 chunks of S/4`, or nothing if it stays in one piece."""
    if len(drawing.chunks) == 1:
        return ""
    size, *others = {hi - lo for lo, hi in drawing.chunks}
    return f", in {len(drawing.chunks)} chunks" + ("" if others else f" of {amount(size, drawing.count)}")


def title(drawing: Drawing, index: int) -> str:
    """Return the title of a round."""
    return f"Round {index + 1} of {len(drawing.rounds)}, {', '.join(drawing.rounds[index].phases)}"


def aligned(rows: Sequence[Sequence[str]], right: int | None = None) -> list[str]:
    """Return the rows with their cells one below the other, from column `right` on at their right."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    signs = ["<" if right is None or index < right else ">" for index in range(len(widths))]
    return [GAP.join(map("{:{}{}}".format, row, signs, widths)).rstrip() for row in rows]
