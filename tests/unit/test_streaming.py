"""Exchanges back to back: how many make a sample, what is refused, and what says that rows were streamed."""

import pytest

from dpbench.cli.run import options_from, run
from dpbench.errors import UsageError
from dpbench.measure.options import Options
from dpbench.measure.plan import Layout, make_plan
from dpbench.measure.streaming import LEAST_STREAM, STREAM, back_to_back, stream_of
from dpbench.report.columns import TABLE
from dpbench.results.record import STREAMING


def parsed(*typed: str) -> Options:
    context = run.make_context("run", list(typed), obj=typed)
    context.obj = typed
    given = {name: value for name, value in context.params.items() if name != "ranks"}
    return options_from(typed, **given)


@pytest.mark.parametrize(
    ("seconds", "stream"),
    [(0.0, STREAM), (1e-6, STREAM), (0.01, 20), (0.02, 10), (0.0667, 2), (0.15, LEAST_STREAM), (60.0, LEAST_STREAM)],
)
def test_a_sample_has_20_exchanges_or_what_a_tenth_of_the_time_holds(seconds: float, stream: int) -> None:
    assert stream_of(seconds, max_time=2.0) == stream


def test_a_sample_lasts_a_second_at_most_however_long_the_time() -> None:
    assert stream_of(0.1, max_time=1000.0) == 10


def test_exchanges_follow_each_other_as_often_as_was_said() -> None:
    done: list[int] = []
    back_to_back(lambda: done.append(len(done)), 3)
    assert done == [0, 1, 2]


def test_the_call_in_place_is_replaced_by_the_one_out_of_place() -> None:
    options = parsed("--cadence", "streaming", "--sizes", "8")
    assert options.strategies == ("ps", "sharded-ps", "ring", "mpi-out")
    assert parsed("--sizes", "8").strategies == ("ps", "sharded-ps", "ring", "mpi")


def test_the_call_in_place_is_skipped_for_its_second_exchange_would_sum_sums() -> None:
    options = Options("", strategies=("mpi", "mpi-out", "ring"), sizes=(8,), cadence=STREAMING)
    (plans,) = make_plan(options, ["cpu"], Layout(2, 1))
    assert [plan.reason and "in place" in plan.reason for plan in plans] == [True, None, None]
    assert [plan.roles is None for plan in plans] == [True, False, False]


def test_phases_of_exchanges_that_overlap_are_refused() -> None:
    with pytest.raises(UsageError, match="--phases tells of phases, and --cadence streaming has none"):
        parsed("--cadence", "streaming", "--phases", "--sizes", "8")


def test_the_column_of_times_says_how_they_were_taken() -> None:
    from dataclasses import replace

    from launches import row

    one = row()
    for cadence, unit in (("barrier", "median"), (STREAMING, "streamed")):
        shown = [each.unit for each in TABLE if each.head == "time" and each.when(replace(one, cadence=cadence))]
        assert shown == [unit]
