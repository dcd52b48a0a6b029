"""Ranks that were started differently stop together, with what differs, both values and the rank."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from threadedworld import on_ranks

from dpbench.errors import DpbenchError, Exit
from dpbench.measure.alike import arguments, differences, require_alike, short, variables
from dpbench.measure.options import Options, Training

OPTIONS = Options("dpbench", sizes=(4096,))


def outcomes(size: int, act: Callable[[Any], None]) -> list[tuple[int, str] | None]:
    """Return each rank's exit code and message, or None where `act` raises nothing."""

    def outcome(world: Any) -> tuple[int, str] | None:
        world.binding, world.library = "4.1.2", "MPICH 5.0.2"
        try:
            act(world)
        except DpbenchError as error:
            return (int(error.code), str(error)) if error.agreed else (-1, "nobody else knows")
        return None

    return on_ranks(size, outcome)


def test_ranks_that_are_alike_go_on_however_their_options_were_spelled() -> None:
    commands = ("dpbench -b 4K -e 4K", "dpbench --sizes 4096")
    assert outcomes(2, lambda world: require_alike(world, replace(OPTIONS, command=commands[world.rank]))) == [None] * 2


def test_other_arguments_are_a_mistake_that_rank_0_reports() -> None:
    others = {1: {"sizes": (8192,), "dedicated": True}, 2: {"iters": 3}}
    root, *rest = outcomes(4, lambda world: require_alike(world, replace(OPTIONS, **others.get(world.rank, {}))))
    assert root is not None
    assert root[0] == Exit.USAGE
    assert "rank 1 on n1 has other arguments than rank 0 (so do 1 more ranks)" in root[1]
    assert "--sizes 8192 (rank 0: 4096); --dedicated-servers True (rank 0: False)" in root[1]
    assert rest == [(Exit.USAGE, "")] * 3


def test_other_software_is_the_environments_fault() -> None:
    def act(world: Any) -> None:
        world.library = f"Open MPI 5.0.{world.rank // 2}"
        require_alike(world, OPTIONS)

    root, *rest = outcomes(3, act)
    assert root is not None
    assert root[0] == Exit.ENVIRONMENT
    assert "rank 2 on n2" in root[1]
    assert "MPI library Open MPI 5.0.1 (rank 0: Open MPI 5.0.0)" in root[1]
    assert rest == [(Exit.ENVIRONMENT, "")] * 2


def test_a_difference_names_both_values() -> None:
    mine, roots = {"UCX_TLS": "tcp", "FI_PROVIDER": "tcp"}, {"FI_PROVIDER": "tcp", "MALLOC_ARENA_MAX": "1"}
    found = [str(each) for each in differences(mine, roots)]
    assert found == ["MALLOC_ARENA_MAX unset (rank 0: 1)", "UCX_TLS tcp (rank 0: unset)"]


def test_only_variables_that_matter_and_are_no_ranks_own_are_compared() -> None:
    same = {"OMPI_MCA_btl": "self,tcp", "MPIR_CVAR_NOLOCAL": "1", "MALLOC_ARENA_MAX": "1", "FI_PROVIDER": "tcp"}
    own = {"OMPI_MCA_initial_wdir": "/a", "OMPI_MCA_ess_base_vpid": "3", "UCX_NET_DEVICES": "mlx5_1:1"}
    ranks = {"OMPI_COMM_WORLD_RANK": "3", "PMI_RANK": "3", "CUDA_VISIBLE_DEVICES": "3", "SLURM_PROCID": "3"}
    assert variables({**same, **own, **ranks, "HOME": "/a", "SECRET": "x"}) == same


def test_an_option_is_compared_by_the_name_it_is_typed_with() -> None:
    found = arguments(replace(OPTIONS, strategies=("ps", "ring"), straggler=(3, 0.02)))
    assert found["--strategy"] == "ps,ring"
    assert found["--max-time"] == "2.0"
    assert found["--server-buffer"] == str(64 * 2**20)
    assert found["--straggler"] == "3,0.02"
    assert not {"--command", "--notes"} & set(found)
    trained = arguments(replace(OPTIONS, training=Training(rate=0.5)))
    assert dict(trained.items() - arguments(OPTIONS).items()) == {"--lr": "0.5", "--compute": "0.0"}


def test_long_values_are_cut() -> None:
    assert short("x" * 100) == "x" * 59 + "…"
    assert short(None) == "unset"
