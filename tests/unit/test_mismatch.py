"""What is noted above the tables where a run got less than was asked for, or than there is."""

from typing import Any

import pytest
from threadedworld import on_ranks

from dpbench.measure.mismatch import Seat, about_confined, mismatches

STEP = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"}
ODD = ("", "1(x2)", "40,8", "nodes[006,011]", "-1", "9" * 40, "\udcff")
NAMES = ("NTASKS", "NTASKS_PER_NODE", "TASKS_PER_NODE", "JOB_NUM_NODES", "STEP_ID", "STEP_NUM_TASKS", "CPUS_PER_TASK")


def notes(size: int, **variables: str) -> tuple[str, ...]:
    """The notes of a job of `size` ranks; cores do not matter."""

    def act(world: Any) -> tuple[str, ...]:
        world.size = size
        return mismatches(world, variables)

    (found,) = on_ranks(1, act)
    return tuple(found)


@pytest.mark.parametrize(
    ("size", "variables", "fact", "advice"),
    [
        (1, {"SLURM_NTASKS": "1", "SLURM_NTASKS_PER_NODE": "2"}, "SLURM_NTASKS=1 is less than 1 x SLURM", "ask for"),
        (2, {"SLURM_NTASKS": "8"}, "SLURM_NTASKS=8 is more than the ranks here, 2", "mpirun -n $SLURM_NTASKS"),
    ],
)
def test_other_tasks_than_asked_for_are_noted(size: int, variables: dict[str, str], fact: str, advice: str) -> None:
    (note,) = notes(size, **variables)
    assert note.startswith(fact)
    assert advice in note


@pytest.mark.parametrize(
    ("size", "variables"),
    [
        (2, {}),
        (8, {"SLURM_NTASKS": "8", "SLURM_NTASKS_PER_NODE": "4", "SLURM_JOB_NUM_NODES": "2"}),
        (16, {"SLURM_NTASKS": "1"}),  # one task with many cores, for mpirun
        (2, STEP | {"SLURM_NTASKS": "2"}),
    ],
)
def test_what_was_asked_for_needs_no_note(size: int, variables: dict[str, str]) -> None:
    assert notes(size, **variables) == ()


def test_the_variables_of_mpiruns_helpers_say_nothing_about_ranks() -> None:
    helper = STEP | {"SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "2", "SLURM_JOB_NUM_NODES": "2"}
    assert notes(1, **helper, PMI_RANK="0", PMI_SIZE="1") == ()


@pytest.mark.parametrize("value", ODD)
def test_strange_values_are_no_error_and_no_note(value: str) -> None:
    assert notes(2, **{f"SLURM_{name}": value for name in NAMES}) == ()


def test_ranks_that_share_cores_though_there_are_more_are_noted() -> None:
    seats = [Seat("a", "n1", {0}, 2), Seat("b", "n2", {0}, 64), Seat("b", "n2", {0}, 64), Seat("b", "n2", {1}, 64)]
    (found,) = about_confined(seats)
    assert found.fact == "ranks 1-2 share 1 of the 64 cores of n2"
    assert "--cpus-per-task" in found.advice
    (found,) = about_confined(seats * 2)
    assert found.fact == "ranks 0,4 share 1 of the 2 cores of n1, as on other machines"


def test_ranks_that_share_all_cores_there_are_need_no_note() -> None:
    assert list(about_confined([Seat("a", "n1", {0, 1}, 2)] * 3)) == []
    assert list(about_confined([Seat("a", "n1", {0, 1}, 64)] * 2)) == []
