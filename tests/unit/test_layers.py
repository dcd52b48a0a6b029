"""Imports go one way, and what needs no MPI loads none."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dpbench"
FILES = sorted(PACKAGE.rglob("*.py"))

LEAVES = {"units", "errors", "dtypes", "environment", "hooks", "text"}
ALLOWED = {  # what a layer may import besides itself and the leaves; a leaf may import the errors
    "schedule": set[str](),
    "devices": set[str](),
    "results": set[str](),
    "strategies": {"schedule"},
    "engine": {"schedule", "strategies", "devices"},
    "measure": {"schedule", "strategies", "devices", "engine", "results"},
    "report": {"results", "measure.options", "schedule"},
    "lab": {"engine.library"},
}
ONLY_IN = {"mpi4py": "engine", "cupy": "devices"}


def layer(file: Path) -> str:
    """Return the first name under the package: a folder, or a module of its own."""
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(file: Path) -> Iterator[str]:
    """Yield the full name of everything that `file` imports, wherever in it."""
    package = file.parent.relative_to(ROOT).parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            source = ".".join(filter(None, (base, node.module)))
            yield from (f"{source}.{alias.name}" for alias in node.names)


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_file_imports_only_its_own_layer_and_those_below(file: Path) -> None:
    own = layer(file)
    below = {"errors"} if own in LEAVES else ALLOWED.get(own, set()) | LEAVES
    allowed = below | {own, "__version__"}
    if own in {"cli", "__main__"}:
        return
    inside = [full.removeprefix("dpbench.") for full in imports(file) if full.startswith("dpbench.")]
    wrong = [full for full in inside if not any(f"{full}.".startswith(f"{one}.") for one in allowed)]
    assert not wrong


@pytest.mark.parametrize("file", FILES, ids=name)
def test_mpi_and_the_gpu_are_each_known_to_one_package(file: Path) -> None:
    known = [full.split(".")[0] for full in imports(file)]
    assert [module for module in known if ONLY_IN.get(module, layer(file)) != layer(file)] == []


@pytest.mark.parametrize("module", ["dpbench", "dpbench.strategies.registry", "dpbench.schedule.simulate"])
def test_schedules_and_strategies_load_neither_numpy_nor_mpi(module: str) -> None:
    heavy = ("numpy", "mpi4py", "cupy", "click", "rich")
    code = (
        f"import sys, {module}\n"
        "from dpbench.strategies.registry import strategies\n"
        "strategies()\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_process_of_the_tests_never_loads_mpi() -> None:
    # What the tests import of dpbench: an MPI process cannot start MPI jobs reliably.
    assert "mpi4py.MPI" not in sys.modules
    modules = ["dpbench.measure.quality", "dpbench.measure.devices", "dpbench.measure.plan", "dpbench.measure.output"]
    modules += ["dpbench.report.output"]
    code = f"import importlib, sys; [importlib.import_module(m) for m in {modules}]; print('mpi4py.MPI' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(("given", "kept"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_numpy_starts_no_thread_per_core_unless_told_to(given: dict[str, str], kept: str) -> None:
    code = "import os; from dpbench.cli import main; main(['list']); print(os.environ['OPENBLAS_NUM_THREADS'])"
    environ = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"} | given
    job = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert job.stdout.splitlines()[-1] == kept
