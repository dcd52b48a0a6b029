"""What a rank is doing: noted outside the timed region, for whoever has to say where the job stopped."""

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from dpbench.engine.exchange import Exchange

State = Literal["elsewhere", "barrier", "exchange"]


class Where:
    """One rank and what it is doing. Other threads only read it."""

    def __init__(self, rank: int = 0, host: str = "?", size: int = 1) -> None:
        self.rank, self.host, self.size = rank, host, size
        self.case = ""  #: strategy and size; nothing before the first
        self.iteration = 0  #: from 1, of all exchanges of the case
        self.state: State = "elsewhere"
        self.exchange: Exchange | None = None  #: the last or the next one
        self.patience_s: float | None = None  #: how long an exchange may stand still; None: for ever
        self.written: list[str] = []  #: the sizes that are safe

    def enter(self, case: str, exchange: "Exchange | None", iterations: int, patience_s: float | None) -> None:
        """Note which case comes next, and how often it was exchanged before."""
        self.case, self.exchange, self.iteration = case, exchange, iterations
        self.patience_s = patience_s

    def progress(self) -> tuple[Any, ...]:
        """Return something that changes as long as the rank makes progress."""
        exchange = self.exchange
        outlook = exchange.outlook if exchange is not None and self.state == "exchange" else None
        return self.case, self.iteration, self.state, outlook and outlook.progress()

    @property
    def sizes_written(self) -> str:
        """The sizes whose rows are safe, as text."""
        return ", ".join(self.written) or "none"

    def __str__(self) -> str:
        """Return rank, host, strategy, size and iteration, as far as there are some."""
        iteration = f", iteration {self.iteration}" if self.case and self.iteration else ""
        return f"rank {self.rank} on {self.host}" + (f": {self.case}{iteration}" if self.case else "")
