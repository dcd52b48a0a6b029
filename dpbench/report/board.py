"""A drawn schedule as text, for few ranks: each round's messages, beside what every rank holds after it."""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from rich.text import Text

from dpbench.report import words
from dpbench.report.routes import routes
from dpbench.report.words import GAP
from dpbench.schedule.draw import Drawing


class Board:
    """The rounds of a drawing, within `width` columns if possible.

    Cells tell whose gradients are summed if there is room for that, else how many.
    """

    def __init__(self, drawing: Drawing, width: int) -> None:
        self.drawing, self.everyone = drawing, drawing.everyone
        self.routes = [routes(drawing, round_) for round_ in drawing.rounds]
        self.left = max((len(line) for lines in self.messages() for line in lines), default=0)
        self.names = [words.chunks(drawing, range(chunk, chunk + 1)) for chunk in range(len(drawing.chunks))]
        self.label = max(map(len, self.names))
        masks = {mask for held in drawing.states() for row in held for mask in row}
        for self.tell, gap in ((words.sum_of, 2), (words.share_of, 2), (words.share_of, 1)):
            self.cell = gap + max(len(self.tell(mask, self.everyone)) for mask in masks)
            if self.width <= width:
                break

    @property
    def width(self) -> int:
        """The columns of the widest line."""
        return 2 * len(GAP) + self.left + self.label + self.drawing.ranks * self.cell

    def legend(self) -> Iterator[str]:
        """Yield what the signs mean."""
        workers = self.drawing.workers
        if self.tell is words.share_of:
            some = f"2/{len(workers)}: the sum of 2 of {len(workers)} gradients; "
        elif len(workers) > 2:
            some = "{0}+{1}: gradients of ranks {0} and {1}, summed; ".format(*workers)
        else:
            some = "a number: the gradient of that rank; " if len(workers) > 1 else ""
        yield f"cells\t{some}all: complete; -: nothing"
        if together := next((route for lines in self.routes for route in lines if len(route.sources) > 1), None):
            yield f"arrows\t{together.cells[0]}: each of these ranks sends its own"

    def lines(self) -> Iterator[Text]:
        """Yield the lines of all rounds."""
        heads = self.row("rank", [(str(rank), "") for rank in range(self.drawing.ranks)])
        states = self.drawing.states()
        next(states)
        for index, (held, messages) in enumerate(zip(states, self.messages(), strict=True)):
            yield Text(words.title(self.drawing, index), style="bold")
            changed = {(change.rank, change.chunk) for change in self.drawing.rounds[index].changes}
            for message, row in zip_longest(messages, [heads, *self.matrix(held, changed)]):
                line = Text(f"{GAP}{message or '':{self.left}}{GAP}").append_text(row or Text())
                line.rstrip()
                yield line
            yield Text()

    def messages(self) -> Iterator[list[str]]:
        """Yield the lines about the messages of each round; those of all rounds are aligned."""
        lines = iter(words.aligned([route.cells for group in self.routes for route in group]))
        return (list(islice(lines, len(group))) for group in self.routes)

    def matrix(self, held: list[list[int]], changed: set[tuple[int, int]]) -> Iterator[Text]:
        """Yield a line for each chunk: what each rank holds of it. What has just changed stands out."""
        for chunk, name in enumerate(self.names):
            cells = []
            for rank, row in enumerate(held):
                colour = "green" if row[chunk] == self.everyone else ""
                style = f"bold {colour}" if (rank, chunk) in changed else colour
                cells.append((self.tell(row[chunk], self.everyone), style))
            yield self.row(name, cells)

    def row(self, label: str, cells: Sequence[tuple[str, str]]) -> Text:
        """Return a label, then cells, each with its style."""
        return Text.assemble(f"{label:{self.label}}", *((f"{text:>{self.cell}}", style) for text, style in cells))
