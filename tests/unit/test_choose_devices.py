"""What all ranks make of what each has found. Fake worlds; no GPU, no MPI."""

import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from dpbench.devices.inventory import Obstacle
from dpbench.engine.gpu_aware import Awareness
from dpbench.errors import PlatformError
from dpbench.measure import devices
from dpbench.measure.devices import Chosen, Finding, choose, look_around, sharing_of

GPU_READY = Finding(None, "works")
NO_CUPY = Obstacle("CuPy is not installed", "pip install it")


@dataclass
class FakeWorld:
    """A rank of four on two nodes. The others answer as it does, but for what they have `found` and their GPUs."""

    found: dict[int, Obstacle | Awareness] = field(default_factory=dict)
    gpus: tuple[str, ...] = ("GPU-0",) * 4
    leaders: tuple[int, ...] = (0, 0, 2, 2)
    rank: int = 0
    local_rank: int = 0
    library: str = "MPICH 5.0.2"

    @property
    def size(self) -> int:
        return len(self.leaders)

    @property
    def nodes(self) -> int:
        return len(set(self.leaders))

    def host(self, rank: int) -> str:
        return f"node{self.leaders[rank]}"

    def gather(self, value: Any) -> list[Any]:
        if isinstance(value, tuple) and isinstance(value[0], int):
            return list(zip(self.leaders, self.gpus[: self.size], strict=True))
        kind = Obstacle if value is None else type(value)
        return [own if isinstance(own := self.found.get(rank), kind) else value for rank in range(self.size)]


class FakeGPU:
    def __init__(self, gpu: int) -> None:
        self.gpu = gpu


@pytest.fixture(autouse=True)
def without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPU 0 for rank 0, and a module of devices that needs no CuPy."""
    cuda: Any = ModuleType("dpbench.devices.cuda")
    cuda.CudaDevice = type("CudaDevice", (FakeGPU,), {"name": "cuda"})
    cuda.StagedCudaDevice = type("StagedCudaDevice", (FakeGPU,), {"name": "cuda-staged"})
    cuda.identity_of = lambda ordinal: f"GPU-{ordinal}"
    monkeypatch.setitem(sys.modules, "dpbench.devices.cuda", cuda)
    monkeypatch.setattr(devices, "ordinal_of", lambda local_rank: local_rank)
    monkeypatch.setattr(devices, "query", lambda: None)


def pick(world: FakeWorld, *asked: str, found: Finding = GPU_READY, gpu_aware: str = "auto") -> Chosen:
    return choose(world, asked, gpu_aware, found)  # type: ignore[arg-type]


def names(chosen: Chosen) -> list[str]:
    return [device.name for device in chosen.devices]


def test_cpu_asks_nobody_and_is_never_refused() -> None:
    assert look_around(("cpu",), "auto") == Finding(None, "not tried")
    assert names(pick(FakeWorld(), "cpu", found=Finding(NO_CUPY, "not tried"))) == ["cpu"]


def test_auto_is_cuda_where_every_rank_can() -> None:
    assert names(pick(FakeWorld(), "auto")) == ["cuda"]


def test_auto_is_cpu_where_one_rank_lacks_something_and_says_why_and_where() -> None:
    chosen = pick(FakeWorld(found={3: NO_CUPY}), "auto")
    assert names(chosen) == ["cpu"]
    assert chosen.notes == ("--device auto is cpu: CuPy is not installed (rank 3 on node2)",)


def test_auto_is_cpu_where_the_library_is_not_known_to_take_gpu_memory() -> None:
    chosen = pick(FakeWorld(), "auto", found=Finding(None, "crashed"))
    assert names(chosen) == ["cpu"]
    assert "MPICH 5.0.2 is not known to take GPU memory" in chosen.notes[0]


@pytest.mark.parametrize("name", ["cuda", "cuda-staged"])
def test_a_gpu_asked_for_and_missing_is_an_error_with_the_remedy(name: str) -> None:
    with pytest.raises(PlatformError, match=rf"--device {name}: CuPy .* \(rank 1 on node0\): pip install it"):
        pick(FakeWorld(found={1: NO_CUPY}), name)


def test_cuda_without_an_aware_library_is_refused_and_staged_is_not() -> None:
    crashed = Finding(None, "crashed")
    with pytest.raises(PlatformError, match="use --device cuda-staged"):
        pick(FakeWorld(), "cuda", found=crashed)
    assert names(pick(FakeWorld(), "cuda-staged", found=crashed)) == ["cuda-staged"]


def test_one_node_whose_library_cannot_is_enough_to_refuse() -> None:
    unable = Awareness(False, "its UCX has no CUDA")
    with pytest.raises(PlatformError, match="its UCX has no CUDA"):
        pick(FakeWorld(found={2: unable}), "cuda")


def test_a_gpu_that_auto_leaves_aside_makes_its_rows_doubtful_but_none_at_all_does_not() -> None:
    chosen = pick(FakeWorld(), "auto", found=Finding(None, "crashed"))
    assert names(chosen) == ["cpu"]
    assert chosen.paths["cpu"].startswith("there are GPUs, but --device auto is cpu: MPICH 5.0.2 is not known to take")
    assert pick(FakeWorld(), "auto", found=Finding(NO_CUPY, "not tried")).paths == {}
    assert pick(FakeWorld(), "cpu").paths == pick(FakeWorld(), "cuda-staged").paths == {}


def test_a_library_that_only_the_user_vouches_for_makes_rows_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(pick(FakeWorld(), "cuda", "cpu", gpu_aware="yes").paths) == ["cuda"]
    assert pick(FakeWorld(), "cuda").paths == {}  # a trial message has arrived
    monkeypatch.setattr(devices, "query", lambda: True)
    assert pick(FakeWorld(), "cuda", gpu_aware="yes").paths == {}


def test_only_rank_0_has_the_message() -> None:
    with pytest.raises(PlatformError, match="CuPy"):
        pick(FakeWorld(), "cuda", found=Finding(NO_CUPY, "not tried"))
    with pytest.raises(Exception, match=r"^$") as error:
        pick(FakeWorld(rank=1), "cuda", found=Finding(NO_CUPY, "not tried"))
    assert error.value.code == PlatformError.code  # type: ignore[attr-defined]


def test_a_list_gives_the_devices_in_its_order() -> None:
    assert names(pick(FakeWorld(), "cuda-staged", "cpu", "cuda")) == ["cuda-staged", "cpu", "cuda"]


def test_only_the_librarys_own_word_makes_its_collectives_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not pick(FakeWorld(), "cuda").trusts_collectives
    monkeypatch.setattr(devices, "query", lambda: True)
    assert pick(FakeWorld(), "cuda").trusts_collectives


def test_ranks_that_share_a_gpu_are_named_and_their_scope_says_so() -> None:
    chosen = pick(FakeWorld(leaders=(0, 0, 2)), "cuda", "cuda-staged", "cpu")
    assert list(chosen.scopes([0, 1, 2], 2).values()) == ["shared-gpu", "shared-gpu", "network"]
    assert list(chosen.scopes([0, 2], 2).values()) == ["network"] * 3
    assert "ranks 0, 1 share GPU GPU-0" in chosen.notes
    assert chosen.sharing([0, 1, 2]) == ("ranks 0, 1 share GPU GPU-0",)
    assert chosen.sharing([0, 2]) == ()


def test_a_gpu_cut_into_slices_is_told_as_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    world = FakeWorld(leaders=(0, 0), gpus=("GPU-0", "GPU-1"))
    assert pick(world, "cuda").sharing([0, 1]) == ()
    monkeypatch.setattr(devices, "gpus", lambda: [{"mig": None}, {"mig": True}])
    assert pick(world, "cuda").sharing([0, 1]) == ("a GPU is cut into slices (MIG)",)


def test_distinct_gpus_of_one_node_are_ports_and_staging_goes_through_host_memory() -> None:
    world = FakeWorld(leaders=(0, 0), gpus=("GPU-0", "GPU-1"))
    assert pick(world, "cuda", gpu_aware="yes").scopes([0, 1], 1) == {"cuda": "intra-node-gpu"}


def test_of_many_shared_gpus_the_first_are_named() -> None:
    notes = list(sharing_of({f"GPU-{gpu}": [2 * gpu, 2 * gpu + 1] for gpu in range(512)}))
    assert notes[2:] == ["ranks 4, 5 share GPU GPU-2", "and 509 more GPUs are shared"]
