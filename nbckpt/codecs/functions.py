"""Functions of the notebook, by value; classes are `classes`.

A restored function's globals are the live namespace, as a function's that was defined in a cell
are; closures share their cells again; streams hold no process ids, addresses or counters, so the
same definition gives the same bytes in every process.
"""

from __future__ import annotations

import importlib
import sys
import typing
from functools import lru_cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from cloudpickle import cloudpickle

from nbckpt.codecs.loading import LOADING, from_namespace
from nbckpt.codecs.pickler import CellRef, NamespacePickler
from nbckpt.codecs.sources import know_source, source_of
from nbckpt.fingerprint.user_names import DECORATED
from nbckpt.fingerprint.values.homes import is_user_file
from nbckpt.runtime.user_code_errors import user_code_errors, user_code_errors_ignored

NAMED: tuple[type, ...] = (
    type, FunctionType, typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple, typing.NewType,
    *(getattr(typing, name) for name in ["TypeAliasType"] if hasattr(typing, name)),
)  # fmt: skip
"""Types of objects that the notebook defines under a name, to which streams then refer."""


def is_importable(obj: Any) -> bool:
    """True if another process gets `obj`, which is one of `NAMED`, by importing its module."""
    if isinstance(obj, type | FunctionType):
        try:
            meet_module(obj.__module__)
            return bool(cloudpickle._should_pickle_by_reference(obj))  # noqa: SLF001  # no public twin
        except user_code_errors():  # of a metaclass
            return False
    holder = None if obj.__module__ == "__main__" else sys.modules.get(obj.__module__)
    return getattr(holder, obj.__name__, None) is obj


def default_reduction(pickler: NamespacePickler, obj: Any) -> Any:
    """Reduction of a function or class, as cloudpickle makes it, which has met its module."""
    meet_module(getattr(obj, "__module__", None))
    return pickler.default_reduce(obj)


def meet_module(name: str | None) -> None:
    """Import a module of a loaded library that its own members name, as ``numpy.rec`` is."""
    if name and name not in sys.modules:
        file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
        if file and not is_user_file(file):
            _try_import(name)


@lru_cache(maxsize=4096)
def _try_import(name: str) -> None:
    with user_code_errors_ignored():  # whatever an import raises; then it is no home of anything
        importlib.import_module(name)


def refer(pickler: NamespacePickler, obj: object) -> Any:
    """Refer by name to what the namespace has and the stream does not hold; else None."""
    home = pickler.scope.homes.get(id(obj))
    if home is None or home in pickler.own:
        return None
    pickler.needs.add(home)
    return from_namespace, (home,)


def reduce_function(pickler: NamespacePickler, function: FunctionType) -> Any:
    """A function by name if it can be imported, else by its code."""
    if is_importable(function):
        return default_reduction(pickler, function)
    if (made := vars(function).get(DECORATED)) is not None:
        return made
    home = _home_of(pickler, function)
    if home is None:
        return default_reduction(pickler, function)
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
    return make_function, (function.__code__, cells, home), state, None, None, set_function


def _home_of(pickler: NamespacePickler, function: FunctionType) -> str | None:
    """The module whose own variables are a function's globals; "" of the notebook, None of neither.

    Only a module that can be imported is one that another process finds.
    """
    variables = function.__globals__
    if variables is pickler.scope.namespace:
        return ""
    name = variables.get("__name__")
    if not isinstance(name, str) or name == "__main__" or variables.get("__spec__") is None:
        return None
    module = sys.modules.get(name)
    is_home = isinstance(module, ModuleType) and vars(module) is variables
    return name if is_home else None


def _as_in_code(function: FunctionType) -> str:
    """The qualified name: the very text that the code has, as in a function that a cell made."""
    name: str = getattr(function.__code__, "co_qualname", "")  # from Python 3.11 on
    return name if name == function.__qualname__ else sys.intern(function.__qualname__)


def make_function(code: CodeType, cells: tuple[CellType, ...], home: str) -> FunctionType:
    """A function of the module `home`, or of the namespace that is being restored.

    `set_function` fills in the rest.
    """
    variables = vars(importlib.import_module(home)) if home else LOADING.get().namespace
    return FunctionType(code, variables, code.co_name, None, cells or None)


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
    """A code object whose file name is that of its cell's text, not of this process.

    Notes
    -----
    The name and the tuples of names are written as copies: pickle refers back to an object that
    it has met, and which of these are one object differs between the process that compiled the
    code and one that restored it. cloudpickle's reduction does the same, but from 3.1.3 on it
    drops the file name, and with it the text that tracebacks and `inspect.getsource` show.
    """
    source = source_of(pickler, code.co_filename)
    arguments = (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_nlocals,
        code.co_stacksize,
        code.co_flags,
        code.co_code,
        code.co_consts,
        (*code.co_names,),
        (*code.co_varnames,),
        "".join(source.filename),
        "".join(code.co_name),
        code.co_qualname,
        code.co_firstlineno,
        code.co_linetable,
        code.co_exceptiontable,
        (*code.co_freevars,),
        (*code.co_cellvars,),
    )
    return make_code, (source.text, *arguments)


def make_code(text: str, *arguments: Any) -> CodeType:
    """A code object; `text` is that of its cell, if it is of one."""
    code = CodeType(*arguments)
    know_source(code.co_filename, text)
    return code
