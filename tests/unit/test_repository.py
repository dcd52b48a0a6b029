"""The repository keeps its own rules: small files and functions, one version, nothing of one machine."""

import ast
import re
from importlib.metadata import distributions
from pathlib import Path

import pytest

import dpbench

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "dpbench").rglob("*.py"))
GENERATED = {"__pycache__", "build", "dist"}
LONGEST_FILE = 200
LONGEST_FUNCTION = 40


def repository_files():
    """Every file but what tools generate; works in an unpacked archive too, where git knows nothing."""
    for path in sorted(ROOT.rglob("*")):
        folders = set(path.relative_to(ROOT).parts[:-1])
        hidden = {folder for folder in folders if folder.startswith(".")} - {".ci"}
        if path.is_file() and path.name != ".git" and not hidden and not folders & GENERATED:
            yield path


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def make_targets():
    return set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))


def make_commands(name):
    """The targets of make commands on a line of their own, maybe with a comment, or in backquotes."""
    return set(re.findall(r"(?:^ *|`)make ([a-z-]+)(?: *#.*$|$|`)", text(name), re.MULTILINE))


def test_ci_runs_the_readmes_test_command():
    assert "test" in make_commands("README.md")
    assert "test" in make_commands(".ci/run")


@pytest.mark.parametrize("name", ["README.md", ".ci/run", "Makefile"])
def test_every_make_command_names_a_target(name):
    assert make_commands(name) <= make_targets()


def test_make_help_lists_every_target():
    described = set(re.findall(r"^([a-z-]+):.*## ", text("Makefile"), re.MULTILINE))
    assert described == make_targets()


def test_no_file_names_a_folder_of_the_machine_it_was_written_on():
    pattern = re.compile(r"(?<![\w.}])/(?:work|root|home|Users)/\w+|(?<![\w.}])/tmp/[a-z]/")
    found = []
    for path in repository_files():
        content = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(content)]
    assert found == []


def test_every_module_says_what_it_is_for():
    silent = [path.name for path in MODULES if not ast.get_docstring(ast.parse(path.read_bytes()))]
    assert silent == []


def test_no_module_is_longer_than_a_few_screens():
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert [f"{path}: {lines}" for path, lines in lengths.items() if lines > LONGEST_FILE] == []


def test_no_function_is_longer_than_a_screen():
    long = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long.append(f"{path.relative_to(ROOT)}: {node.name} has {lines} lines")
    assert long == []


def test_the_installed_package_and_the_source_agree_on_the_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", dpbench.__version__)
    assert {found.version for found in distributions(name="dpbench")} <= {dpbench.__version__}


def test_the_version_is_written_in_one_place():
    configuration = text("pyproject.toml")
    assert 'dynamic = ["version"]' in configuration
    assert dpbench.__version__ not in configuration
