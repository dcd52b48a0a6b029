"""Who sends what to whom in a round, in few lines."""

from collections import defaultdict
from typing import NamedTuple

from dpbench.report import words
from dpbench.schedule.draw import Drawing, DrawnRound, Message
from dpbench.units import format_numbers


class Route(NamedTuple):
    """A line about messages: from whom to whom, what, and what becomes of it there."""

    sources: tuple[int, ...]
    dests: tuple[int, ...]  #: empty for a copy, which stays where it is
    what: str
    does: str

    @property
    def cells(self) -> tuple[str, str, str]:
        """The columns of the line."""
        dests = f" -> {format_numbers(self.dests)}" if self.dests else ""
        return f"{format_numbers(self.sources)}{dests}", self.what, self.does


def routes(drawing: Drawing, round_: DrawnRound) -> list[Route]:
    """Return the lines about a round.

    Messages that differ only in their senders, or only in their receivers, share one, as `1-3 -> 0`.
    """
    fan_in, fan_out = defaultdict[object, list[Message]](list), defaultdict[object, list[Message]](list)
    for message in round_.messages:
        fan_in[message.dest, message.chunks, words.OPS[message.op]].append(message)
        fan_out[message.source, message.chunks, words.OPS[message.op]].append(message)
    gathers = len(fan_in) < len(fan_out)
    lines = [route(drawing, group) for group in (fan_in if gathers else fan_out).values()]
    lines.sort(key=lambda line: (line.dests, line.sources) if gathers else line.sources)
    copies = [Route((copy.rank,), (), words.chunks(drawing, copy.chunks), "copied") for copy in round_.copies]
    return lines + copies


def route(drawing: Drawing, group: list[Message]) -> Route:
    """Return the line about messages of the same chunks with the same effect."""
    sources = tuple(sorted({message.source for message in group}))
    dests = tuple(sorted({message.dest for message in group}))
    return Route(sources, dests, words.chunks(drawing, group[0].chunks), words.OPS[group[0].op])
