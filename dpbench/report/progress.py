"""A progress bar on stderr for people who watch; nothing for files, job logs and `--quiet`."""

import contextlib
from collections.abc import Iterator

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dpbench.report.console import Screen


class Steps:
    """Progress that nobody sees. Call it with what is under way; print tables inside `aside`."""

    def __call__(self, label: str) -> None:
        """Say that the step before is done and that of `label` is under way."""

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Clear the line while something else is printed."""
        yield


class Bar(Steps):
    """Progress as a bar. It is drawn in the calls only: a thread would disturb what is timed."""

    def __init__(self, console: Screen, total: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=total)
        self._begun = 0
        self._bar.start()

    def __call__(self, label: str) -> None:
        """Draw the bar with the steps done before that of `label`."""
        self._bar.update(self._task, description=label, completed=self._begun, refresh=True)
        self._begun += 1

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away, and draw it again at the end."""
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def close(self) -> None:
        """Take the bar away for good."""
        self._bar.stop()


@contextlib.contextmanager
def progress(console: Screen, total: int, quiet: bool = False) -> Iterator[Steps]:
    """Yield what to call at each of `total` steps: `with progress(err(), 8) as step: step("ring 4 KiB")`."""
    if quiet or not console.is_interactive or not console.file.isatty():
        yield Steps()
        return
    bar = Bar(console, total)
    try:
        yield bar
    finally:
        bar.close()
