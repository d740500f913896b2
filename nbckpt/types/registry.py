"""The adapter of a type: nbckpt's own, or that of another package, asked for once.

No library is imported to ask. Adapters are found by the package of a class, so a module of them is
read when the first value of its library is met, and the entry points of other packages when the
first value is met of a package that is neither Python's nor one that nbckpt's own codecs write.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias
from weakref import ref

from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.types.adapter import TypeAdapter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "nbckpt.types"
"""The entry point group in which other packages name their adapters."""

_OWN: dict[str, str] = {
    "PIL": "pillow",
    "_csv": "standard_library",
    "_queue": "standard_library",
    "_regex": "regex",
    "asyncio": "standard_library",
    "msgspec": "msgspec",
    "multiprocessing": "standard_library",
    "numba": "numba",
    "numpy": "numpy",
    "pendulum": "pendulum",
    "pint": "pint",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "pydantic": "pydantic",
    "pygments": "tokens",
    "rdkit": "rdkit",
    "shapely": "shapely",
    "spacy": "spacy",
    "sqlalchemy": "sqlalchemy",
    "sqlparse": "tokens",
    "unittest": "standard_library",
    "xarray": "xarray",
}
"""Package of a class → the module here that has its adapters, as `ADAPTERS`."""

OWN_CODECS = frozenset({"numpy", "pandas", "polars", "pyarrow", "torch", "ipywidgets", "nbckpt"})
"""Packages whose values nbckpt writes itself: its tests tell of them."""

_WITHOUT = frozenset({"__main__", *OWN_CODECS, *sys.stdlib_module_names})
"""Packages of which no entry point is asked."""

_Table: TypeAlias = dict[str, TypeAdapter]

_adapters: dict[int, tuple[ref[type], TypeAdapter | None]] = {}
"""By the identity of a class: to hash one runs what its metaclass says."""

_tables: dict[str, _Table] = {}
_entry_points: dict[str, list[EntryPoint]] | None = None


def adapter_for(kind: type) -> TypeAdapter | None:
    """The adapter of the values of type `kind`; None if there is none."""
    place = id(kind)
    known = _adapters.get(place)
    if known is not None and known[0]() is kind:
        return known[1]
    found = _found(kind)
    _adapters[place] = (ref(kind, lambda gone: _forget(place, gone)), found)
    return found


def _forget(place: int, gone: ref[type]) -> None:
    """Forget a class that is gone, unless another one is in its place."""
    if (known := _adapters.get(place)) is not None and known[0] is gone:
        del _adapters[place]


def _found(kind: type) -> TypeAdapter | None:
    for base in kind.__mro__[:-1]:
        module = str(base.__module__)
        adapter = _table_of(module.partition(".")[0]).get(f"{module}:{base.__qualname__}")
        if adapter is not None and (base is kind or not adapter.exact):
            return adapter
    return None


def _table_of(package: str) -> _Table:
    """Class → adapter, of one package; nbckpt's own adapters come first."""
    table = _tables.get(package)
    if table is None:
        table = {}
        if package not in _WITHOUT:
            for entry in _entry_points_of(package):
                table |= _table_of_entry(entry)
        if package in _OWN:
            own = importlib.import_module(f"nbckpt.types.{_OWN[package]}")
            table |= _as_table(own.ADAPTERS)
        _tables[package] = table
    return table


def _as_table(adapters: Iterable[TypeAdapter]) -> _Table:
    return {name: adapter for adapter in adapters for name in adapter.classes}


def _entry_points_of(package: str) -> list[EntryPoint]:
    global _entry_points  # noqa: PLW0603  # replaced as a whole
    if _entry_points is None:
        from importlib.metadata import entry_points

        found: dict[str, list[EntryPoint]] = {}
        for entry in entry_points(group=GROUP):
            found.setdefault(entry.name, []).append(entry)
        _entry_points = found
    return _entry_points.get(package, [])


def _table_of_entry(entry: EntryPoint) -> _Table:
    """The adapters that another package gives; none, and a notice, if it cannot give them."""
    try:
        return _as_table(_checked(entry.load()))
    except user_code_errors() as error:  # whatever a module of theirs raises
        _notify(entry, error)
        return {}


def _checked(loaded: object) -> list[TypeAdapter]:
    """The adapters that an entry point names.

    Raises
    ------
    TypeError
        If it is neither one nor several.
    """
    adapters = [loaded] if isinstance(loaded, TypeAdapter) else loaded
    if isinstance(adapters, list | tuple):
        own = [adapter for adapter in adapters if isinstance(adapter, TypeAdapter)]
        if len(own) == len(adapters):
            return own
    message = "it is neither a TypeAdapter nor a tuple of these"
    raise TypeError(message)


def _notify(entry: EntryPoint, error: BaseException) -> None:
    """Warn of an entry point, also where warnings are ignored for the sake of what is looked at."""
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("always")
        what = f"the entry point {entry.name!r} ({entry.value}) of the group {GROUP!r} is not used"
        text = f"{what}: {type(error).__name__}: {error}"
        warnings.warn_explicit(text, RuntimeWarning, "nbckpt", 0)
