"""What environment variables tell about the launcher."""

import pytest

from dpbench.environment import (
    ill_launched,
    launched,
    of_helper,
    rank_hint,
    rank_variables,
    set_by_hand,
    size_hint,
    speaks,
)

BATCH_SCRIPT = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_LOCALID": "0"}
SRUN = BATCH_SCRIPT | {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "2"}
PTY = SRUN | {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0", "SLURM_PTY_PORT": "41234"}
INTERACTIVE_STEP = PTY | {"SLURM_STEP_ID": "4294967290"}


@pytest.mark.parametrize(
    ("environ", "rank", "size"),
    [
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "3"}, 3, 4),
        ({"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"}, 0, 2),
        ({"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2"}, 1, 2),
        ({"PALS_RANKID": "5"}, 5, None),
        ({"FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "3"}, 1, 3),
        ({"PMIX_RANK": "1"}, 1, None),
        ({"MPI_LOCALRANKID": "1"}, 1, None),
        ({"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}, 1, 2),
        (SRUN, 2, 4),
        (SRUN | {"PMIX_RANK": "2"}, 2, 4),
    ],
)
def test_a_rank_knows_its_number_before_mpi_starts(
    environ: dict[str, str], rank: int, size: int | None
) -> None:
    assert launched(environ)
    assert rank_hint(environ) == rank
    assert size_hint(environ) == size
    assert speaks(environ) == (rank == 0)


@pytest.mark.parametrize(
    "environ", [{}, BATCH_SCRIPT, PTY, INTERACTIVE_STEP, PTY | {"PMIX_RANK": "0"}, {"SLURM_JOB_ID": "7"}]
)
def test_terminals_and_batch_scripts_are_not_launched(environ: dict[str, str]) -> None:
    assert not launched(environ)
    assert speaks(environ)


def test_mpirun_inside_slurm_counts_and_not_the_srun_that_started_its_helpers() -> None:
    helper = SRUN | {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}
    environ = helper | {"PMI_RANK": "0", "PMI_SIZE": "64"}
    assert (rank_hint(environ), size_hint(environ), speaks(environ)) == (0, 64, True)
    assert of_helper(environ)


@pytest.mark.parametrize("environ", [{}, BATCH_SCRIPT, SRUN, SRUN | {"PMI_RANK": "2", "PMI_SIZE": "4"}, PTY])
def test_what_srun_says_of_its_own_tasks_is_about_them(environ: dict[str, str]) -> None:
    assert not of_helper(environ)


def test_mpirun_inside_an_interactive_shell_is_a_launcher() -> None:
    assert launched(PTY | {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"})
    assert launched(PTY | {"PMI_RANK": "0", "PMI_SIZE": "4"})


def test_a_size_set_by_hand_is_known_but_starts_nothing() -> None:
    environ = {"OMPI_COMM_WORLD_SIZE": "4"}
    assert not launched(environ)
    assert size_hint(environ) == 4


def test_a_size_set_by_hand_is_noted_where_it_is_not_the_truth() -> None:
    (note,) = set_by_hand(1, {"OMPI_COMM_WORLD_SIZE": "4"})
    assert note.startswith("OMPI_COMM_WORLD_SIZE=4 is set, but no launcher")
    assert note.endswith("as MPI says, 1")
    assert set_by_hand(4, {"OMPI_COMM_WORLD_SIZE": "4"}) == ()


@pytest.mark.parametrize("environ", [{}, BATCH_SCRIPT, PTY, INTERACTIVE_STEP, SRUN])
def test_an_allocation_is_nothing_that_was_set_by_hand(environ: dict[str, str]) -> None:
    assert set_by_hand(1, environ) == ()


OPEN_MPI = "Open MPI v5.0.11, package: Open MPI user"
MPICH = "MPICH Version:      5.0.2\nMPICH configure:    --with-device=ch4"
MPIRUN = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1", "PMIX_NAMESPACE": "job"}
HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}


@pytest.mark.parametrize(
    ("library", "environ", "ill"),
    [
        (MPICH, MPIRUN, True),
        (OPEN_MPI, HYDRA, True),
        (OPEN_MPI, {name: HYDRA[name] for name in ("MPI_LOCALRANKID", "MPI_LOCALNRANKS")}, True),
        (OPEN_MPI, MPIRUN, False),
        (MPICH, HYDRA, False),
        (MPICH + " --with-pmix=/usr", MPIRUN, False),
        ("Intel(R) MPI Library 2021.14", MPIRUN, False),  # its ranks will be alone, but not ended
        (OPEN_MPI, HYDRA | {"PMIX_NAMESPACE": "job"}, False),
        (OPEN_MPI, SRUN | {"PMI_RANK": "2", "PMI_SIZE": "4"}, False),  # Slurm's PMI, which Open MPI 4 may know
        (OPEN_MPI, {"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "2", "PMI_RANK": "0"}, False),
        (MPICH, {}, False),
        (OPEN_MPI, SRUN, False),
    ],
)
def test_a_launcher_that_cannot_be_the_librarys_is_known_before_mpi_starts(
    library: str, environ: dict[str, str], ill: bool
) -> None:
    assert ill_launched(library, environ) == ill


def test_a_step_without_a_rank_still_tells_its_size() -> None:
    environ = {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}
    assert size_hint(environ) == 4
    assert speaks(environ)


@pytest.mark.parametrize("value", ["", " ", "x", "-1", "1(x2)", "0x1", "1.0", "٣", "9" * 50])
def test_malformed_values_are_as_if_unset(value: str) -> None:
    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "SLURM_STEP_ID", "PMI_SIZE")
    environ = dict.fromkeys((*names, "SLURM_STEP_NUM_TASKS"), value)
    assert not launched(environ)
    assert size_hint(environ) is None
    assert speaks(environ)


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, ["SLURM_PROCID"]),
        (
            {"PMIX_RANK": "0", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"},
            ["PMIX_RANK", "SLURM_PROCID"],
        ),
        ({"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1"}, ["PMI_RANK", "MPI_LOCALRANKID"]),
        ({"SLURM_PROCID": "0"}, []),
    ],
)
def test_the_variables_that_make_a_process_a_rank_are_known(environ: dict[str, str], names: list[str]) -> None:
    assert rank_variables(environ) == names
    assert not launched({name: value for name, value in environ.items() if name not in names})
