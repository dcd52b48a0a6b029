"""Everything a run puts out: tables, CSV, JSON, progress and messages, from rank 0."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from dpbench.errors import DpbenchError, PlatformError, ReaderLeft
from dpbench.measure.options import Options
from dpbench.report.console import err, out
from dpbench.report.footer import footer
from dpbench.report.growth import growth
from dpbench.report.header import group, header
from dpbench.report.phases import legend, phase_table
from dpbench.report.ports import port_table
from dpbench.report.progress import Steps, progress
from dpbench.report.table import SizeTable
from dpbench.results.csvfile import open_csv
from dpbench.results.facts import RunFacts
from dpbench.results.journal import Journal
from dpbench.results.jsonfile import open_json
from dpbench.results.keeper import Keeper
from dpbench.results.phases import Breakdown, all_rows
from dpbench.units import now


class Report:
    """The output of one run; opening it checks the paths of its files.

    What breaks on the way is told at once and does not end the run while anything else takes results.
    """

    def __init__(self, options: Options) -> None:
        self.quiet, self.scales = options.quiet, options.scaling is not None
        self.screen, self.messages = out(options.csv, options.json), err()
        self.progress = Steps()
        self.held = ExitStack()
        self.closed = False
        self.facts: RunFacts | None = None
        self.parts: list[Breakdown] = []
        self.broken: DpbenchError | None = None  #: what became of the tables
        document = open_json(options.json, force=options.force) if options.json else None
        try:
            file = open_csv(options.csv, force=options.force, append=options.append) if options.csv else None
        except DpbenchError:
            if document:
                document.discard()
            raise
        self.kept = Keeper(file, self.say)
        try:
            self.journal = Journal(document, options.command, self.say)
        except DpbenchError:
            self.kept.close()
            raise

    def begin(self, facts: RunFacts, cases: int, background: Mapping[str, Any]) -> None:
        """Print the header."""
        self.facts = facts
        self.journal.begin(facts, background)
        if not self.quiet:
            self.show(header(facts, has_parts=self.scales))
            self.require_reader()
        self.progress = self.held.enter_context(progress(self.messages, cases, self.quiet))

    def group(self, facts: RunFacts) -> None:
        """Print what the tables of these ranks need above them."""
        self.journal.group(facts)
        with self.progress.aside():
            self.show(group(facts, is_part=self.scales, quiet=self.quiet))
        if not self.quiet:
            self.require_reader()

    def step(self, label: str) -> None:
        """Show that the next case is under way."""
        self.progress(label)

    def say(self, text: str) -> None:
        """Print a message."""
        with self.progress.aside(), suppress(PlatformError):  # there is no other place to tell that
            self.messages.print(f"dpbench: {text}")

    def size(self, parts: Sequence[Breakdown]) -> None:
        """Keep the rows of a size in the files, then print their tables."""
        self.parts += parts
        self.keep(parts)
        with self.progress.aside():
            self.show((SizeTable([each.row for each in parts]), *phase_table(parts), *port_table(parts)))
        self.require_reader()

    def stop(self, reason: str, missing: Sequence[Breakdown] = ()) -> None:
        """End it before all is measured: `missing` are the skipped rows of what is not. Never raises.

        Rows and tables then say that they are incomplete. Also before `begin`, and where nothing can be written.
        """
        if self.closed:
            return
        there = set(map(table_of, self.parts))  # what has come in the meantime is not missing
        missing = [each for each in missing if table_of(each) not in there]
        self.journal.stop(reason)
        self.keep(missing)
        done, open_sizes = (len(set(map(table_of, parts))) for parts in (self.parts, missing))
        text = f"incomplete: {reason}, {done} of {done + open_sizes} sizes measured"
        with self.progress.aside():
            self.show((text, ""))
        if self.screen.lost:
            self.say(text)
        if text := str(self.close() or ""):
            self.say(text)

    def abandon(self, reason: str) -> None:
        """Close the files after an error, which is told elsewhere; tables get no end."""
        if not self.closed:
            self.closed = True
            self.held.close()
            self.progress = Steps()
            self.journal.stop(reason)
            self.kept.close()
            self.journal.close()

    def end(self, after: Sequence[Mapping[str, Any]] = ()) -> None:
        """Print the footer. Raises the DpbenchError of what was lost on the way."""
        if error := self.close(after):
            raise error

    def close(self, after: Sequence[Mapping[str, Any]] = ()) -> DpbenchError | None:
        """Print the footer, close everything, return what was lost on the way."""
        if self.closed:
            return None
        self.closed = True
        self.held.close()
        self.progress = Steps()
        errors = [self.kept.close(), self.journal.close(after)]
        self.show(growth([each.row for each in self.parts]) if self.scales else ())
        if not self.quiet and self.facts:
            self.show((f"finished\t{now()}", "", *footer(self.facts, self.parts), *legend(self.parts)))
        return next(filter(None, [*errors, self.broken]), None)

    @property
    def takes_rows(self) -> bool:
        """Whether there is a file that rows may still get into."""
        return self.kept.takes_rows or self.journal.takes_rows

    def keep(self, parts: Sequence[Breakdown]) -> None:
        """Write rows into the files."""
        self.kept.keep(all_rows(parts))
        self.journal.keep(parts)

    def show(self, lines: Iterable[Any]) -> None:
        """Print lines and tables on the screen, if there still is one."""
        try:
            for line in lines:
                self.screen.print(line)
        except PlatformError as error:
            self.broken = error
            if self.takes_rows:
                self.say(f"{error}; the run goes on, for its {'CSV' if self.kept.takes_rows else 'JSON'}")

    def require_reader(self) -> None:
        """Raise a DpbenchError if nobody takes results any more."""
        if self.screen.lost and not self.takes_rows:
            raise self.broken or ReaderLeft()


def table_of(part: Breakdown) -> tuple[int, int]:
    """Return what tells the table of a row: so many ranks, such a size."""
    return part.row.ranks, part.row.bytes
