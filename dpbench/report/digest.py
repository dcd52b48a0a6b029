"""A drawn schedule in short, for many ranks: what the rounds are like, and how far the sums have come."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from dpbench.report import words
from dpbench.report.header import count
from dpbench.report.routes import routes
from dpbench.report.words import GAP
from dpbench.schedule.draw import Drawing

SHOWN = 3  #: lines of messages in a round, and rounds of a phase


def digest(drawing: Drawing) -> Iterator[str]:
    """Yield the first rounds and the last one of each phase."""
    everyone = drawing.everyone
    shown, states = set(rounds_shown(drawing)), drawing.states()
    next(states)
    left_out = 0
    for index, held in enumerate(states):
        if index not in shown:
            left_out += 1
            continue
        if left_out:
            yield f"… {count(left_out, 'more round')}"
            yield ""
            left_out = 0
        yield from one_round(drawing, index)
        yield from (f"{GAP}{line}" for line in progress(drawing, index, held, everyone))
        yield ""


def rounds_shown(drawing: Drawing) -> Iterator[int]:
    """Yield which rounds are told, ascending: of rounds alike the first ones and the last."""
    indices = range(len(drawing.rounds))
    for _, alike in groupby(indices, key=lambda index: drawing.rounds[index].phases):
        group = list(alike)
        yield from group if len(group) <= SHOWN + 1 else [*group[: SHOWN - 1], group[-1]]


def one_round(drawing: Drawing, index: int) -> Iterator[str]:
    """Yield the title of a round and its first messages."""
    round_ = drawing.rounds[index]
    moved = words.amount(sum(message.elements for message in round_.messages), drawing.count)
    yield f"{words.title(drawing, index)}: {count(len(round_.messages), 'message')}, {moved} in all"
    lines = routes(drawing, round_)
    shown = lines if len(lines) <= SHOWN + 1 else lines[:SHOWN]
    yield from (f"{GAP}{line}" for line in words.aligned([route.cells for route in shown]))
    if len(lines) > len(shown):
        yield f"{GAP}… and {len(lines) - len(shown)} more"


def progress(drawing: Drawing, index: int, held: list[list[int]], everyone: int) -> Iterator[str]:
    """Yield how many chunks of which ranks are complete, and how far the others have come."""
    complete = defaultdict[int, list[int]](list)
    for rank, row in enumerate(held):
        complete[row.count(everyone)].append(rank)
    whole = len(drawing.chunks)
    for number, ranks in sorted(complete.items(), reverse=True)[:SHOWN]:
        if number:
            part = "the gradient" if number == whole else f"{number} of {whole} chunks"
            yield f"complete: {part} on {words.ranks(ranks)}"
    if len(complete) > SHOWN:
        yield "…"
    if list(complete) == [0]:
        yield "complete: nothing yet"
    partial = [change.ranks.bit_count() for change in drawing.rounds[index].changes if change.ranks != everyone]
    if partial:
        yield f"partial sums of up to {max(partial)} of {count(len(drawing.workers), 'gradient')}"
