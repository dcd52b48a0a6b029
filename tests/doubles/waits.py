"""Finding every place where dpbench waits for a device, and leaving one out."""

import ast
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from pathlib import Path

import dpbench

ROOT = Path(dpbench.__file__).parent
NAMES = {"ready", "wait", "synchronize", "_completed"}  #: what is called to wait, or handed on to be called
PACKAGES = ("engine", "devices", "measure")
OTHERS = {"bell", "watchdog", "signals", "planted"}  #: modules that wait for threads only

Site = tuple[int, int]


class Finder(ast.NodeTransformer):
    """Finds the uses of waits in a module; replaces the one at `out` by something that does not wait."""

    def __init__(self, out: Site | None = None) -> None:
        self.out = out
        self.found: list[Site] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name not in NAMES or not self.at(node):
            return self.generic_visit(node)
        # `_completed(value)` returns its value; the others return whether, or that, all is complete.
        return node.args[0] if node.args else ast.Constant(True)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        waits = node.attr in {"wait", "synchronize"} or ast.unparse(node).endswith("stream.done")
        if waits and isinstance(node.ctx, ast.Load) and self.at(node):
            return ast.parse("lambda: None", mode="eval").body
        return self.generic_visit(node)

    def at(self, node: ast.expr) -> bool:
        """Note a use; tell whether it is the one to leave out."""
        site = (node.lineno, node.col_offset)
        if site not in self.found:
            self.found.append(site)
        return site == self.out


def sites() -> Iterator[str]:
    """Yield every use of a wait in dpbench as module:line:column."""
    paths = [path for package in PACKAGES for path in (ROOT / package).glob("*.py") if path.stem not in OTHERS]
    for path in sorted(paths):
        finder = Finder()
        finder.visit(ast.parse(path.read_text()))
        module = f"dpbench.{path.parent.name}.{path.stem}"
        yield from (f"{module}:{line}:{column}" for line, column in finder.found)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module without one of its waits."""

    def __init__(self, name: str, path: str, out: Site) -> None:
        super().__init__(name, path)
        self.out = out

    def get_code(self, fullname: str) -> object:
        path = self.get_filename(fullname)
        tree = Finder(self.out).visit(ast.parse(self.get_data(path)))
        return compile(ast.fix_missing_locations(tree), path, "exec")


class Without(importlib.abc.MetaPathFinder):
    """Finds the module that is to be loaded so."""

    def __init__(self, module: str, out: Site) -> None:
        self.module, self.out = module, out

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name != self.module:
            return None
        path = str(ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py"))
        return importlib.machinery.ModuleSpec(name, Loader(name, path, self.out), origin=path)


def leave_out(site: str) -> None:
    """See to it that the module of `site`, imported later, does not wait there."""
    module, line, column = site.split(":")
    assert module not in sys.modules
    sys.meta_path.insert(0, Without(module, (int(line), int(column))))
