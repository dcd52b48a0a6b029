"""What holds around a whole measurement: the watchdog, the signals, and where this rank was if it fails."""

from collections.abc import Iterator
from contextlib import contextmanager

from dpbench.engine.signals import Signals
from dpbench.engine.watchdog import Watchdog
from dpbench.engine.where import Where
from dpbench.errors import DpbenchError, RankFailed
from dpbench.measure.options import Options
from dpbench.measure.patience import patience


@contextmanager
def guarded(where: Where, options: Options) -> Iterator[Signals]:
    """Watch over the measurement; yield the signals. Raises RankFailed for what this rank alone has raised."""
    where.patience_s = patience(options, 0)
    signals = Signals(where)

    def last_words(reason: str) -> None:
        signals.last_words(reason)  # what they are becomes known within

    try:
        with signals, Watchdog(where, last_words):
            yield signals
    except DpbenchError as error:
        if error.agreed:
            raise
        last_words(failed(where))
        raise RankFailed(str(where), options.debug, where.rank / where.size) from error
    except BaseException as error:  # an exit too: the others would wait for this rank for ever
        last_words(failed(where))
        raise RankFailed(str(where), options.debug, where.rank / where.size) from error


def failed(where: Where) -> str:
    """Return why the run is incomplete: its own message says more."""
    return f"rank {where.rank} failed"
