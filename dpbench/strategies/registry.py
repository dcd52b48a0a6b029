"""Finding the strategies: every public module of this folder that defines one."""

import importlib
import inspect
import pkgutil
from functools import cache

import dpbench.strategies as folder
from dpbench.strategies.base import Strategy


@cache
def strategies() -> dict[str, Strategy]:
    """Return every strategy by name. A module that cannot be imported or a name taken twice is an error."""
    found: dict[str, Strategy] = {}
    for module_info in pkgutil.iter_modules(folder.__path__):
        module = importlib.import_module(f"{folder.__name__}.{module_info.name}")
        for cls in vars(module).values():
            if not (inspect.isclass(cls) and issubclass(cls, Strategy) and cls.__module__ == module.__name__):
                continue
            if inspect.isabstract(cls) or cls is Strategy:
                continue
            if cls.name in found:
                other = found[cls.name].__module__
                raise ValueError(f"strategy name {cls.name!r} is taken twice: {other}, {module.__name__}")
            found[cls.name] = cls()
    return found
