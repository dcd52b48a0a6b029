"""The text of a schedule: who takes part, the rounds, the bytes of each rank."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from rich.text import Text

from dpbench.report import words
from dpbench.report.board import Board
from dpbench.report.digest import digest
from dpbench.report.header import count
from dpbench.schedule.count import Traffic
from dpbench.schedule.draw import Drawing

FEW = 8  #: ranks whose rounds are told in full

Lines = Iterator[str | Text]
Phases = Mapping[str, Traffic]


def text_of(name: str, drawing: Drawing, width: int) -> Lines:
    """Yield the lines for `Screen.print`: everything for few ranks, what is typical for many."""
    yield Text(f"{name} on {count(drawing.ranks, 'rank')}: {count(len(drawing.rounds), 'round')}", style="bold")
    yield f"gradient\tS bytes{words.cut(drawing)}"
    yield from roles(drawing.workers, drawing.servers)
    if drawing.ranks <= FEW:
        board = Board(drawing, width)
        yield from board.legend()
        yield ""
        yield from board.lines()
    else:
        yield ""
        yield from digest(drawing)
    yield from traffic(drawing)


def roles(workers: range, servers: range) -> Lines:
    """Yield who has a gradient and who serves, if anybody does."""
    yield f"workers\t{words.ranks(workers)}"
    if servers:
        yield f"servers\t{words.ranks(servers)}"


def traffic(drawing: Drawing) -> Lines:
    """Yield what each rank sends and receives; ranks that do the same share a line."""
    def of(elements: int) -> str:
        return words.multiple(elements, drawing.count)

    alike = defaultdict[tuple[int, int], list[int]](list)
    for rank, one in enumerate(drawing.traffic):
        alike[one.sent, one.received].append(rank)
    each = [(words.ranks(ranks), of(sent), of(received)) for (sent, received), ranks in alike.items()]
    sent, received = (sum(getattr(one, way) for one in drawing.traffic) for way in ("sent", "received"))
    rows = [("bytes", "sent", "received"), *each, ("total", of(sent), of(received))]
    yield from words.aligned(rows, right=1)
    most = max(one.busiest for one in drawing.traffic)
    if most:
        busiest = [rank for rank, one in enumerate(drawing.traffic) if one.busiest == most]
        yield f"busiest\t{words.ranks(busiest)}: {of(most)}, sent or received, whichever is more"


def counts_of(name: str, workers: range, servers: range, gradient: int, phases: Mapping[int, Phases]) -> Lines:
    """Yield what some of very many ranks do, phase by phase: what can be told without playing all of them."""
    yield Text(f"{name} on {max(phases) + 1} ranks", style="bold")
    yield from roles(workers, servers)
    yield "note\ttoo many messages to play: counted for some ranks only"
    yield ""
    rows: list[tuple[str, ...]] = [("rank", "phase", "messages sent", "received", "bytes sent", "received")]
    for rank, parts in phases.items():
        for phase, one in parts.items():
            moved = [words.multiple(elements, gradient) for elements in (one.sent, one.received)]
            rows.append((str(rank), phase, str(one.messages_sent), str(one.messages_received), *moved))
    yield from words.aligned(rows, right=2)
