"""A drawn schedule as a picture for slides: SVG in one file, without scripts, fonts or links.

Columns are ranks, rows what they hold at the start and after each round, cells the chunks: empty, shaded by the
share of the gradients that are summed, or solid when complete. Arrows are messages.
"""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from dpbench.report import words
from dpbench.report.header import count
from dpbench.schedule.draw import Drawing

MOST_CELLS = 20_000  #: a picture of more is larger than programs for slides bear

HEIGHT, BETWEEN = 26, 64  #: of a row of cells, and at least down to the next
NARROWEST, STRIP, WIDEST = 32, 160, 72  #: a cell, all cells of a rank, the cell of a rank that has one
APART = 36  #: from rank to rank
LEFT, TOP, BOTTOM, RIGHT = 130, 110, 96, 20
LEAST = 780  #: wide enough for the legend
LETTER = 6.4  #: of wide digits, in a cell

STYLE = """
text { font-family: Helvetica, Arial, sans-serif; font-size: 12px; fill: #212529 }
.name { font-size: 20px; font-weight: bold }
.head { font-weight: bold }
.note { font-size: 10px; fill: #495057 }
.in, .done { font-size: 10px; text-anchor: middle }
.done { fill: #ffffff; font-weight: bold }
.middle { text-anchor: middle }
.cell, .sample { stroke: #495057; stroke-width: 1 }
.added, .replaces { fill: none; stroke-width: 1.4 }
.added { stroke: #d9480f }
.replaces { stroke: #1864ab; stroke-dasharray: 5 3 }
"""
COLOURS = {"added": "#d9480f", "replaces": "#1864ab"}
LEGEND = {"added": "is added there", "replaces": "replaces what is there"}
NOTHING, PARTIAL, COMPLETE = "#ffffff", "#f59f00", "#2b8a3e"


def cells(drawing: Drawing) -> int:
    """Return how many cells a picture of it has."""
    return (len(drawing.rounds) + 1) * drawing.ranks * len(drawing.chunks)


def svg(name: str, drawing: Drawing) -> bytes:
    """Return the picture of strategy `name`."""
    root = Picture(name, drawing).root
    indent(root)
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


class Picture:
    """The picture; drawn when made."""

    def __init__(self, name: str, drawing: Drawing) -> None:
        self.drawing, self.everyone = drawing, drawing.everyone
        self.cell = max(NARROWEST, min(WIDEST, STRIP // len(drawing.chunks)))
        masks = {mask for held in drawing.states() for row in held for mask in row}
        widest = max(len(words.sum_of(mask, self.everyone)) for mask in masks)
        self.tell = words.sum_of if widest * LETTER < self.cell - 2 else words.share_of
        self.width = max(LEAST, LEFT + drawing.ranks * self.pitch + RIGHT)
        self.down = HEIGHT + max(BETWEEN, self.width // 16)  # arrows that are not too flat
        self.height = self.y(len(drawing.rounds)) + HEIGHT + BOTTOM
        box = f"0 0 {self.width} {self.height}"
        self.root = Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=box, role="img")
        self.root.set("width", str(self.width))
        self.root.set("height", str(self.height))
        self.frame(name)
        for row, held in enumerate(drawing.states()):
            self.arrows(row)
            self.row(row, held)

    @property
    def pitch(self) -> int:
        """From one rank's first cell to the next one's."""
        return self.cell * len(self.drawing.chunks) + APART

    def x(self, rank: int, chunk: float = 0) -> float:
        """Return where a chunk of a rank begins."""
        return LEFT + rank * self.pitch + chunk * self.cell

    def y(self, row: int) -> int:
        """Return where a row begins."""
        return TOP + row * self.down

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Write."""
        SubElement(self.root, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": kind}).text = text

    def frame(self, name: str) -> None:
        """Draw what stands around the rows."""
        drawing, title = self.drawing, f"{name} on {count(self.drawing.ranks, 'rank')}"
        SubElement(self.root, "title").text = title
        SubElement(self.root, "style").text = STYLE
        for kind, colour in COLOURS.items():
            self.arrowhead(kind, colour)
        SubElement(self.root, "rect", width="100%", height="100%", fill=NOTHING)
        self.text(20, 34, title, "name")
        rounds = count(len(drawing.rounds), "round")
        self.text(20, 54, f"{rounds}; a gradient is S bytes{words.cut(drawing)}")
        for rank in range(drawing.ranks):
            self.column(rank)
        self.legend(self.height - 24)

    def column(self, rank: int) -> None:
        """Write what stands above and below the cells of a rank."""
        drawing, traffic = self.drawing, self.drawing.traffic[rank]
        chunks, middle = len(drawing.chunks), self.x(rank, len(drawing.chunks) / 2)
        serves = rank in drawing.servers and len(drawing.servers) < drawing.ranks
        self.text(middle, TOP - 22, f"rank {rank}{', server' if serves else ''}", "head middle")
        for chunk in range(chunks if chunks > 1 else 0):
            self.text(self.x(rank, chunk + 0.5), TOP - 6, str(chunk), "note middle")
        below = self.height - BOTTOM + 20
        self.text(middle, below, f"sent {words.multiple(traffic.sent, drawing.count)}", "note middle")
        self.text(middle, below + 14, f"received {words.multiple(traffic.received, drawing.count)}", "note middle")

    def row(self, row: int, held: list[list[int]]) -> None:
        """Draw what every rank holds after so many rounds."""
        phases = self.drawing.rounds[row - 1].phases if row else ()
        self.text(20, self.y(row) + 12, f"round {row}" if row else "start", "head")
        self.text(20, self.y(row) + 26, ", ".join(phases), "note")
        for rank, chunks in enumerate(held):
            for chunk, mask in enumerate(chunks):
                share = mask.bit_count() / self.everyone.bit_count()
                self.box(self.x(rank, chunk), self.y(row), self.cell, share, "cell")
                kind = "done" if mask == self.everyone else "in"
                self.text(self.x(rank, chunk + 0.5), self.y(row) + 17, self.tell(mask, self.everyone), kind)

    def box(self, x: float, y: float, width: int, share: float, kind: str) -> None:
        """Draw a cell with such a share of the gradients."""
        fill = COMPLETE if share == 1 else PARTIAL if share else NOTHING
        box = {"x": f"{x:g}", "y": f"{y:g}", "width": str(width), "height": str(HEIGHT), "fill": fill}
        opacity = {"fill-opacity": f"{share:.3g}"} if 0 < share < 1 else {}
        SubElement(self.root, "rect", {"class": kind, **box, **opacity})

    def arrows(self, row: int) -> None:
        """Draw the messages that lead from the row before to this one."""
        for message in self.drawing.rounds[row - 1].messages if row else ():
            middle = (message.chunks.start + message.chunks.stop) / 2
            start = self.x(message.source, middle), self.y(row - 1) + HEIGHT + 2
            self.arrow(*start, self.x(message.dest, middle), self.y(row) - 3, words.OPS[message.op])

    def arrow(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Draw an arrow."""
        ends = {name: f"{value:g}" for name, value in zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)}
        SubElement(self.root, "line", {"class": kind, **ends, "marker-end": f"url(#{kind})"})

    def arrowhead(self, kind: str, colour: str) -> None:
        """Define the head of the arrows of a kind."""
        size = {"markerWidth": "7", "markerHeight": "7", "refX": "9", "refY": "5", "orient": "auto"}
        marker = SubElement(self.root, "marker", {"id": kind, "viewBox": "0 0 10 10", **size})
        SubElement(marker, "path", d="M0,0 L10,5 L0,10 z", fill=colour)

    def legend(self, y: float) -> None:
        """Draw what the shades and the arrows mean."""
        x = 20.0
        for share, meaning in ((0, "nothing"), (0.5, "some gradients, summed"), (1, "complete")):
            self.box(x, y - 17, NARROWEST, share, "sample")
            self.text(x + NARROWEST + 6, y, meaning, "note")
            x += NARROWEST + len(meaning) * LETTER + 24
        for kind in COLOURS:
            self.arrow(x, y - 4, x + 40, y - 4, kind)
            self.text(x + 48, y, LEGEND[kind], "note")
            x += len(LEGEND[kind]) * LETTER + 72
