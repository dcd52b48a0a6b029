"""Everything a run puts out: tables, CSV, progress and messages, from rank 0."""

from collections.abc import Sequence
from contextlib import ExitStack

from dpbench.measure.options import Options
from dpbench.report.console import err, out
from dpbench.report.footer import footer
from dpbench.report.header import header
from dpbench.report.phases import legend, phase_table
from dpbench.report.ports import port_table
from dpbench.report.progress import Steps, progress
from dpbench.report.table import SizeTable
from dpbench.results.csvfile import CsvFile, open_csv
from dpbench.results.facts import RunFacts
from dpbench.results.phases import Breakdown, all_rows


class Report:
    """The output of one run; opening it checks the CSV's path."""

    def __init__(self, options: Options) -> None:
        self.quiet = options.quiet
        self.csv: CsvFile | None = None
        if options.csv:
            self.csv = open_csv(options.csv, force=options.force, append=options.append)
        self.screen, self.messages = out(options.csv), err()
        self.parts: list[Breakdown] = []
        self.held = ExitStack()
        self.progress = Steps()

    def begin(self, facts: RunFacts, cases: int) -> None:
        """Print the header."""
        self.facts = facts
        if not self.quiet:
            for line in header(facts):
                self.screen.print(line)
        self.progress = self.held.enter_context(progress(self.messages, cases, self.quiet))

    def step(self, label: str) -> None:
        """Show that the next case is under way."""
        self.progress(label)

    def say(self, text: str) -> None:
        """Print a message."""
        with self.progress.aside():
            self.messages.print(f"dpbench: {text}")

    def size(self, parts: Sequence[Breakdown]) -> None:
        """Keep the rows of a size in the CSV, then print their tables."""
        self.parts += parts
        if self.csv:
            self.csv.write(all_rows(parts))
        with self.progress.aside():
            self.screen.print(SizeTable([each.row for each in parts]))
            for line in (*phase_table(parts), *port_table(parts)):
                self.screen.print(line)

    def end(self) -> None:
        """Print the footer."""
        self.held.close()
        if self.csv:
            self.csv.close()
        if not self.quiet:
            for line in (*footer(self.facts, [each.row for each in self.parts]), *legend(self.parts)):
                self.screen.print(line)
