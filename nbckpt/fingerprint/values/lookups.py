"""Objects with which code reaches any variable, under whatever name: `eval`, the shell, frames.

What is called by its own name is found in a cell's text; an alias, or one that a container or a
closure holds, is known by what it is.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.raw_members import bases_of

_IN_MODULES = (
    ("sys", "_getframe"), ("sys", "_current_frames"), ("inspect", "currentframe"),
    ("inspect", "stack"), ("gc", "get_objects"), ("gc", "get_referrers"),
    ("IPython", "get_ipython"), ("IPython.core.getipython", "get_ipython"),
)  # fmt: skip
_BUILT_IN = frozenset(
    map(id, (eval, exec, globals, locals, vars, dir, breakpoint))  # built in: they never go
)

QUERYING = frozenset({"eval", "query", "evaluate", "re_evaluate", "execute", "sql"})
"""Names of libraries' functions that look up variables named inside a string."""

_READERS_OF_SOURCE = """
    getsource getsourcelines getcomments findsource getblock linecache getsourcefile
    co_firstlineno __firstlineno__ getframeinfo
"""
READERS_OF_SOURCE = frozenset(_READERS_OF_SOURCE.split())
"""Names by which code asks for the source of other code."""

_OF_SOURCE = ("inspect", "linecache", "dill.source")


def reaches_all(value: object, namespace: Mapping[str, object]) -> str:
    """Name of `value` if code that has it can reach any variable; else the empty text."""
    kind: Any = type(value)
    if kind is BuiltinFunctionType and id(value) in _BUILT_IN:
        return f"{value.__name__}() by another name"  # type: ignore[attr-defined]
    if kind is dict and (value is namespace or value is sys.modules):
        return "globals()" if value is namespace else "sys.modules"
    if issubclass(kind, ModuleType):
        return "__main__" if getattr(value, "__dict__", None) is namespace else ""
    if kind is MethodType or kind is BuiltinFunctionType:
        owner = getattr(value, "__self__", None)
        if type(owner) is dict or is_shell(_kind(owner)):
            return reaches_all(owner, namespace)
    if kind is FunctionType or kind is BuiltinFunctionType:
        return str(value.__name__) if any(value is one for one in _loaded()) else ""  # type: ignore[attr-defined]
    return "the shell" if is_shell(kind) else ""


@lru_cache(maxsize=4096)
def is_shell(kind: type) -> bool:
    """True if a class is that of IPython's shell."""
    return any(
        module_of_class(base).startswith("IPython.") and base.__name__ == "InteractiveShell"
        for base in bases_of(kind)
    )


def _kind(value: object) -> Any:
    return type(value)


def runs_queries(value: Any) -> bool:
    """True if `value` is a library's function that looks up variables named inside a string."""
    function = getattr(value, "__func__", value) if type(value) is MethodType else value
    if type(function) not in {FunctionType, BuiltinFunctionType} or function is eval:
        return False
    owner = type(getattr(function, "__self__", None))
    module = str(getattr(function, "__module__", "") or owner.__module__)
    return function.__name__ in QUERYING and module != "__main__"


def imports_by_name(value: object) -> bool:
    """True if `value` is a function that imports a module by its name."""
    return value is builtins.__import__ or any(
        value is getattr(sys.modules.get(module), name, value is None)
        for module, name in _IMPORTERS
    )


def reads_source(value: object) -> bool:
    """True if `value` is a library's function that gives the source of other code."""
    if type(value) is not FunctionType or value.__module__ not in _OF_SOURCE:
        return False
    return value.__name__ in READERS_OF_SOURCE


MOST_OBJECTS = 10_000
"""In which a variable is searched for strings; in more, they are data and no queries."""

_IMPORTERS = (("importlib", "import_module"), ("runpy", "run_module"), ("runpy", "run_path"))


def _loaded() -> Iterator[object]:
    for module, name in _IN_MODULES:
        if (found := getattr(sys.modules.get(module), name, None)) is not None:
            yield found


def magics_of(namespace: Mapping[str, object]) -> dict[str, object]:
    """The magics of the shell whose namespace this is → their functions; none without a shell."""
    ask: Any = namespace.get("get_ipython")
    if not str(getattr(ask, "__module__", "")).startswith(("IPython", "ipykernel")):
        return {}
    manager = getattr(ask(), "magics_manager", None)
    kinds: dict[str, dict[str, object]] = getattr(manager, "magics", {})
    marks = {"line": "%", "cell": "%%"}
    return {marks[k] + n: f for k, found in kinds.items() if k in marks for n, f in found.items()}


def texts_in(value: object) -> list[str]:
    """The strings in a variable, and in lists and dicts in it; none if they are very many."""
    if type(value) is str:
        return [value]
    if type(value) not in {list, tuple, dict, set, frozenset}:
        return []
    found: list[str] = []
    waiting: list[Any] = [value]
    for _ in range(MOST_OBJECTS):
        if not waiting:
            return found
        item = waiting.pop()
        if type(item) is str:
            found.append(item)
        elif type(item) is dict:
            waiting.extend((*item.keys(), *item.values()))
        elif type(item) in {list, tuple, set, frozenset}:
            waiting.extend(item)
    return []
