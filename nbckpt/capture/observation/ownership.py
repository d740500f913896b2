"""Whose an object is: of the notebook, of a module beside it, or of a library."""

from __future__ import annotations

import functools
import gc
import operator
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.capture.observation.registries import shell_of
from nbckpt.fingerprint.values.homes import home_of, is_users_module, module_of, module_of_class
from nbckpt.fingerprint.values.plain import ATOMS

DEPTH = 3
"""Wrappers and containers that are opened to find what they hold."""

_SHELLS = ("", "IPython", "ipykernel", "matplotlib_inline")
"""Homes of what a shell puts into libraries itself, as into pyplot with the first figure."""

_WRAPPERS = (property, staticmethod, classmethod, functools.partial, functools.cached_property)
_FEW = 50


def is_users(value: object, namespace: Mapping[str, object], depth: int = DEPTH) -> bool:
    """True if `value` is code or an instance of the user's, or wraps or holds something so."""
    kind = type(value)
    if kind in ATOMS or depth < 0:
        return False
    if issubclass(kind, FunctionType):
        return _is_users_function(value, namespace, depth)
    if issubclass(kind, type):
        return is_users_module(module_of(value))
    if issubclass(kind, ModuleType):
        return False
    if is_users_module(module_of_class(kind)):
        return True
    if value is shell_of(namespace):  # it holds the notebook: that makes no holder of it the user's
        return False
    return any(is_users(part, namespace, depth - 1) for part in _parts(value, namespace))


def modules_beside() -> list[str]:
    """The names of the modules beside the notebook that are loaded, its own left out.

    They are looked for again when other modules are loaded than the last time: there are
    thousands. What is inside a package is whose that is, so packages are asked about first.
    """
    global _last_loaded  # noqa: PLW0603  # replaced as a whole
    loaded = sys.modules.copy()  # threads import meanwhile
    names, modules = list(loaded), list(loaded.values())
    known_names, known_modules, found = _last_loaded
    if names != known_names or not all(map(operator.is_, modules, known_modules)):
        packages = {name.partition(".")[0] for name in names} - {"__main__"}
        tops = {package for package in packages if _may_be_users(package)}
        found = [n for n in names if n.partition(".")[0] in tops and is_users_module(n)]
        _last_loaded = names, modules, found
    return list(found)


_last_loaded: tuple[list[str], list[ModuleType], list[str]] = [], [], []


def _may_be_users(top: str) -> bool:
    return top not in sys.modules or is_users_module(top)


def is_of_another_library(value: object, owner: str, namespace: Mapping[str, object]) -> bool:
    """True if `value` is code that a library made when called, to be put into another library.

    ``tqdm.pandas()`` sets a function on `DataFrame` that no module holds under its name.
    """
    if not issubclass(type(value), FunctionType | type):
        return False
    home = str(getattr(value, "__module__", "")).partition(".")[0]
    if home in (*_SHELLS, owner.partition(".")[0]) or "<locals>" not in str(value.__qualname__):  # type: ignore[attr-defined]
        return False
    return home_of(value, namespace) is None


def _is_users_function(value: Any, namespace: Mapping[str, object], depth: int) -> bool:
    own = value.__globals__
    if own is namespace or is_users_module(own.get("__name__")):
        return True
    closed = [c for c in value.__closure__ or () if type(c) is CellType]
    inside = (*_contents(closed), getattr(value, "__wrapped__", None))
    return any(is_users(part, namespace, depth - 1) for part in inside)


def _contents(cells: Iterable[CellType]) -> Iterator[object]:
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # it is empty
            continue


def _parts(value: Any, namespace: Mapping[str, object]) -> Iterable[object]:
    """Objects that a value directly wraps or holds, if few. No code of a container's class runs.

    Not the notebook's variables: who holds all of them, as a session does, is not the user's.
    """
    kind = type(value)
    if issubclass(kind, MethodType):
        return (value.__func__, value.__self__)
    if issubclass(kind, dict):
        few = dict.__len__(value) <= _FEW
        return [*dict.keys(value), *dict.values(value)] if few else ()
    for base in (list, tuple, set, frozenset):
        if issubclass(kind, base):
            return list(base.__iter__(value)) if base.__len__(value) <= _FEW else ()
    found = gc.get_referents(value)
    if not issubclass(kind, _WRAPPERS):
        # Of a library's object only the code that it was given: what else it holds is its own.
        dicts = [p for p in found if type(p) is dict and p is not namespace]
        held = [list(part.values()) for part in dicts if len(part) <= _FEW]
        found = [p for p in (*found, *(v for values in held for v in values)) if _is_code(p)]
    return [part for part in found if part is not kind][:_FEW]


def _is_code(value: object) -> bool:
    return issubclass(type(value), FunctionType | type | MethodType)
