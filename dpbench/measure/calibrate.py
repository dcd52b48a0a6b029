"""Measuring the wire: in the same job, with the same library, engine and kind of buffer as the strategies."""

from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from time import perf_counter

from dpbench.engine.build import Engine, Shape
from dpbench.engine.exchange import Exchange
from dpbench.engine.memory import Buffers, pair_of
from dpbench.engine.world import World
from dpbench.measure.nodes import disjoint, ranks_by_node, same_place, usual_rate
from dpbench.measure.planted import reach
from dpbench.measure.steady import LANES, LARGEST_PIECE, REPEATS, steady_rate
from dpbench.measure.timing import timed
from dpbench.results.link import Link
from dpbench.schedule.partition import part
from dpbench.schedule.probe import ping_pong, shift, swap
from dpbench.schedule.round import Round

STAGING = 2**26  # more than enough: nothing here is added
PAIR_BYTES = 2**19  # or what goes through in PAIR_SECONDS
PAIR_SECONDS = 0.05
ROUND_TRIPS = 50
ADDITIONS = 5
SLOW = 0.8  # of the usual rate: a pair below is named
NAMED = 10

Probe = Callable[[int, int], Iterable[Round]]
"""This rank's rounds for elements [lo, hi)."""


class Calibration:
    """Probes between nodes on one device. Every method is collective."""

    def __init__(self, world: World, engine: Engine, dtype: str, itemsize: int) -> None:
        self.world = world
        self.engine = engine
        self.dtype = dtype
        self.itemsize = itemsize
        self.count = LANES * LARGEST_PIECE // itemsize
        self.buffers = Buffers(*pair_of(engine.device, self.count, dtype))
        self.nodes = ranks_by_node(world.leaders)
        self.firsts = [ranks[0] for ranks in self.nodes]

    def link(self) -> Link:
        """Return what the links between the nodes allow."""
        me, firsts = self.world.rank, self.firsts
        reach("calibrating", self.world.number, self.world.where.size)
        alike = same_place(self.nodes, me)
        rank = self.rate(lambda lo, hi: shift(me, firsts, lo, hi))
        everybody = self.rate(lambda lo, hi: shift(me, alike, lo, hi)) if len(firsts) < self.world.size else rank
        return Link(
            latency_s=self.latency(),
            one_way=self.rate(lambda lo, hi: shift(me, firsts, lo, hi, back=False)),
            rank=rank,
            node=everybody * min(map(len, self.nodes)),
            addition=self.addition(),
            slow_pairs=self.slow_pairs(rank),
        )

    def seconds(self, probe: Probe, piece: int, nbytes: int) -> float:
        """Return this rank's time for `nbytes` bytes in pieces, back to back in LANES lanes."""
        count = LANES * piece // self.itemsize
        shape = Shape(self.dtype, self.itemsize, count, max(LANES, nbytes // piece), LANES, STAGING)
        exchange = self.engine.compiled(lambda index: probe(*part(0, count, LANES, index % LANES)), shape, self.buffers)
        took = self.timed(exchange, 1)[0] / 1e9
        exchange.close()
        return took

    def timed(self, exchange: Exchange, iterations: int) -> list[int]:
        """Return this rank's times of an exchange."""
        where = self.world.where
        where.enter("calibration", exchange, 0, where.patience_s)
        return timed(exchange, self.world.barrier, iterations, where)

    def slowest(self, seconds: float) -> float:
        """Return the longest time of all ranks."""
        return self.world.maxima([int(seconds * 1e9)])[0] / 1e9

    def rate(self, probe: Probe) -> float:
        """Return the bytes a second of each rank that takes part, by the slowest of them."""
        return steady_rate(lambda piece, nbytes: self.slowest(self.seconds(probe, piece, nbytes)))

    def latency(self) -> float:
        """Return half the median round trip of one element between the first two nodes."""
        pair = (self.firsts[0], self.firsts[1])
        shape = Shape(self.dtype, self.itemsize, self.count, 1, 1, STAGING)
        exchange = self.engine.compiled(lambda _: ping_pong(self.world.rank, pair, 0, 1), shape, self.buffers)
        times = self.world.maxima(self.timed(exchange, ROUND_TRIPS))
        exchange.close()
        return float(median(times)) / 2 / 1e9

    def addition(self) -> float:
        """Return the bytes of result a second that this kind of rank adds: the median of the ranks' rates."""
        queue = self.engine.device.queue()
        array = self.buffers.input.array
        add = queue.adder(array, self.buffers.output.array, self.buffers.output.array)
        times = []
        for _ in range(ADDITIONS):
            start = perf_counter()
            add()
            queue.wait()
            times.append(perf_counter() - start)
        return float(median(self.world.gather(self.count * self.itemsize / median(times))))

    def slow_pairs(self, rate: float) -> tuple[str, ...]:
        """Return a line for each pair of nodes, neighbours or with the first, that is slower than the others."""
        nbytes = max(PAIR_BYTES, int(rate * PAIR_SECONDS))
        piece = min(LARGEST_PIECE, nbytes // (4 * LANES))
        rates: dict[tuple[int, int], float] = {}
        for pairs in disjoint(self.firsts):
            probe = partial(swap, self.world.rank, pairs)
            self.seconds(probe, piece, nbytes)  # the connection is made, and what rides on idle time is gone
            times = self.world.gather(min(self.seconds(probe, piece, nbytes) for _ in range(REPEATS)))
            rates |= {(a, b): nbytes / max(times[a], times[b]) for a, b in pairs}
        usual = usual_rate(rates)
        slow = sorted((found, pair) for pair, found in rates.items() if found < SLOW * usual)
        return tuple(
            f"{self.world.host(a)} and {self.world.host(b)}: {found / 1e6:.4g} MB/s, {found / usual:.0%} of the usual"
            for found, (a, b) in slow[:NAMED]
        )
