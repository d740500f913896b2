"""Functions of the notebook, by value; classes are `classes`.

A restored function's globals are the live namespace, as a function's that was defined in a cell
are; closures share their cells again; streams hold no process ids, addresses or counters, so the
same definition gives the same bytes in every process.
"""

from __future__ import annotations

import functools
import linecache
import sys
import typing
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from cloudpickle import cloudpickle

from nbckpt.codecs.loading import LOADING, from_namespace
from nbckpt.digests import digest_of
from nbckpt.names import DECORATED

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


@dataclass(frozen=True)
class Source:
    """The text of a cell, under a name that is the same in every process."""

    filename: str
    text: str


class CellRef:
    """Stands for an empty closure cell in a stream; functions on it fill it afterwards."""

    def __init__(self, cell: CellType) -> None:
        self.cell = cell

    def __reduce__(self) -> Any:
        return CellType, ()


NAMED: tuple[type, ...] = (
    type, FunctionType, typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple, typing.NewType,
    *(getattr(typing, name) for name in ["TypeAliasType"] if hasattr(typing, name)),
)  # fmt: skip
"""What the notebook defines under a name, to which streams then refer."""


def is_importable(obj: Any) -> bool:
    """Whether another process gets `obj`, which is one of `NAMED`, by importing its module."""
    if isinstance(obj, type | FunctionType):
        return bool(cloudpickle._should_pickle_by_reference(obj))  # noqa: SLF001  # no public twin
    holder = None if obj.__module__ == "__main__" else sys.modules.get(obj.__module__)
    return getattr(holder, obj.__name__, None) is obj


def refer(pickler: NamespacePickler, obj: object) -> Any:
    """How to write what the namespace has a name for and the stream does not hold; else None."""
    home = pickler.scope.homes.get(id(obj))
    if home is None or home in pickler.own:
        return None
    pickler.needs.add(home)
    return from_namespace, (home,)


def reduce_function(pickler: NamespacePickler, function: FunctionType) -> Any:
    """A function by name if it can be imported, else by its code."""
    if is_importable(function):
        return pickler.default_reduce(function)
    if (made := vars(function).get(DECORATED)) is not None:
        return made
    if function.__globals__ is not pickler.scope.namespace:
        return pickler.default_reduce(function)
    source = source_of(pickler, function.__code__.co_filename)
    closure = function.__closure__ or ()
    cells = tuple(_cell_ref(pickler, cell) for cell in closure)
    state = {
        "name": sys.intern(function.__name__),  # as a cell that is run has them
        "qualname": _as_in_code(function),
        "module": function.__module__,
        "doc": function.__doc__,
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
        "annotations": function.__annotations__,
        "members": function.__dict__,
        "closure": [
            (ref, cell.cell_contents)
            for ref, cell in zip(cells, closure, strict=True)
            if not _is_empty(cell)
        ],
    }
    if parameters := getattr(function, "__type_params__", ()):
        state["type_params"] = parameters
    arguments = (function.__code__, cells, source.filename, source.text)
    return make_function, arguments, state, None, None, set_function


def _as_in_code(function: FunctionType) -> str:
    """The qualified name: the very text that the code has, as in a function that a cell made."""
    name: str = getattr(function.__code__, "co_qualname", "")  # from Python 3.11 on
    return name if name == function.__qualname__ else sys.intern(function.__qualname__)


def make_function(
    code: CodeType, cells: tuple[CellType, ...], filename: str, text: str
) -> FunctionType:
    """A function of the namespace that is being restored; `set_function` fills in the rest."""
    if text:
        lines = text.splitlines(keepends=True)
        linecache.cache[filename] = (len(text), None, lines, filename)
    return FunctionType(code, LOADING.get().namespace, code.co_name, None, cells or None)


def set_function(function: FunctionType, state: dict[str, Any]) -> None:
    """Give a function its names, defaults and closure; after it is made, for it may hold itself."""
    for member in ("name", "qualname", "module", "doc", "defaults", "kwdefaults", "annotations"):
        setattr(function, f"__{member}__", state[member])
    if "type_params" in state:
        function.__type_params__ = state["type_params"]  # type: ignore[attr-defined]  # 3.12
    function.__dict__ = state["members"]  # the very dict: a variable may hold it
    for cell, contents in state["closure"]:
        cell.cell_contents = contents


def reduce_cell(pickler: NamespacePickler, cell: CellType) -> Any:
    """A closure cell that is reached without its function."""
    contents = [] if _is_empty(cell) else [cell.cell_contents]
    return itself, (_cell_ref(pickler, cell),), contents, None, None, fill_cell


def itself(obj: object) -> object:
    """`obj`."""
    return obj


def fill_cell(cell: CellType, contents: list[object]) -> None:
    """Put the contents, if there are any, into a cell."""
    for value in contents:
        cell.cell_contents = value


def _cell_ref(pickler: NamespacePickler, cell: CellType) -> CellRef:
    pickler.keep(cell)
    return pickler.cells.setdefault(id(cell), CellRef(cell))


def _is_empty(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def reduce_code(pickler: NamespacePickler, code: CodeType) -> Any:
    """A code object whose file name is that of its cell's text, not of this process."""
    source = source_of(pickler, code.co_filename)
    named = code.replace(co_filename=source.filename)
    pickler.keep(named)
    return cloudpickle._code_reduce(named)  # noqa: SLF001  # no public twin


def source_of(pickler: NamespacePickler, filename: str) -> Source:
    """The text of a cell, by the name under which its code knows it."""
    if filename not in pickler.sources:
        entry = linecache.cache.get(filename)
        lines = entry[2] if entry is not None and len(entry) == 4 else []
        text = "".join(lines)
        name = f"<nbckpt {digest_of(text)[:12]}>" if text else "<nbckpt>"
        pickler.sources[filename] = Source(name, text)
    return pickler.sources[filename]


def reduce_cached(pickler: NamespacePickler, cached: Any) -> Any:
    """A function of the notebook under `functools.lru_cache`; what it remembered is not kept."""
    if cached.__wrapped__.__globals__ is not pickler.scope.namespace:
        return NotImplemented
    parameters = cached.cache_parameters()
    members = {k: v for k, v in vars(cached).items() if k != "__wrapped__"}
    return make_cached, (cached.__wrapped__, parameters["maxsize"], parameters["typed"], members)


def make_cached(function: Any, maxsize: int | None, typed: bool, members: dict[str, Any]) -> Any:
    """`function` with an empty cache."""
    cached = functools.lru_cache(maxsize, typed)(function)
    vars(cached).update(members)
    return cached


CACHED = type(functools.lru_cache(lambda: None))
