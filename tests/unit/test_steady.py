"""The rate of a link, from times that contain more than the link's."""

import pytest

from dpbench.measure.steady import BURST, LANES, LARGEST_PIECE, MOST_BYTES, SMALLEST_PIECE, difference, steady_rate


class Link:
    """A link of a rate that lets a burst pass at once, and takes a while to start and to end."""

    def __init__(self, rate: float, burst: int, start: float) -> None:
        self.rate = rate
        self.burst = burst
        self.start = start
        self.sent: list[tuple[int, int]] = []

    def seconds(self, piece: int, nbytes: int) -> float:
        self.sent.append((piece, nbytes))
        return self.start + max(0, nbytes - self.burst) / self.rate


@pytest.mark.parametrize("rate", [1e5, 6e6, 25e6, 1.2e8, 1.2e10])
@pytest.mark.parametrize("burst", [0, 70_000, BURST // 2])
@pytest.mark.parametrize("start", [1e-6, 4e-3])
def test_neither_the_start_nor_the_burst_is_counted(rate: float, burst: int, start: float) -> None:
    assert steady_rate(Link(rate, burst, start).seconds) == pytest.approx(rate)


@pytest.mark.parametrize(("rate", "piece"), [(1e6, SMALLEST_PIECE), (1.2e8, 2**16), (1e12, LARGEST_PIECE)])
def test_pieces_are_as_large_as_the_link_is_fast(rate: float, piece: int) -> None:
    link = Link(rate, 0, 0)
    steady_rate(link.seconds)
    assert {size for size, _ in link.sent[-2:]} == {piece}


@pytest.mark.parametrize("rate", [1.25e5, 1e6, 1e8, 1e12])
def test_a_probe_is_bounded_in_bytes_and_on_slow_links_in_time(rate: float) -> None:
    link = Link(rate, 70_000, 0)
    steady_rate(link.seconds)
    assert max(nbytes for _, nbytes in link.sent) <= MOST_BYTES + max(BURST, LANES * LARGEST_PIECE)
    assert max(nbytes for _, nbytes in link.sent) / rate < 2.2


@pytest.mark.parametrize("hiccup", range(8))
@pytest.mark.parametrize("lasts", [2e-3, 8e-3, 1.0])
def test_one_disturbance_makes_no_absurd_rate(hiccup: int, lasts: float) -> None:
    link = Link(1.25e10, 0, 1e-5)

    def seconds(piece: int, nbytes: int) -> float:
        late = lasts if len(link.sent) == hiccup else 0.0
        return link.seconds(piece, nbytes) + late

    assert steady_rate(seconds) == pytest.approx(1.25e10, rel=0.01)


def test_where_every_short_probe_is_disturbed_the_rate_is_too_low_but_a_rate() -> None:
    assert difference(before=1.0, took=0.9, short=10, counted=80) == 100
    assert difference(before=1.0, took=1.0, short=10, counted=90) == 100
