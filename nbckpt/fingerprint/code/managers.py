"""Context managers that let every exception pass: after the others a body may have stopped.

A manager is looked up as the object that it is. One whose ``__exit__`` is Python is read: if it
can only return nothing or False, it swallows nothing. One that is made of a generator is read,
too: if every handler in it raises again, it swallows nothing. What is written in C, or made by a
function, is known by name, or may swallow.
"""

from __future__ import annotations

import ast
import builtins
import dis
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from nbckpt.fingerprint.code.nodes import nodes_of, once
from nbckpt.runtime.user_code_errors import user_code_errors

UNKNOWN = object()
"""Stands for what a text means that is not looked up in a namespace."""

_PUBLIC = """
    IPython.utils.capture:capture_output _io:_IOBase _thread:LockType _thread:RLock aiofiles:open
    anyio:open_file asyncio:Lock asyncio:Semaphore asyncio:TaskGroup asyncio:timeout
    asyncio:timeout_at builtins:memoryview builtins:open bz2:open codecs:open
    concurrent.futures:ProcessPoolExecutor concurrent.futures:ThreadPoolExecutor
    contextlib:aclosing contextlib:chdir contextlib:closing contextlib:nullcontext
    contextlib:redirect_stderr contextlib:redirect_stdout decimal:localcontext duckdb:connect
    gzip:open h5py:File httpx:AsyncClient httpx:Client httpx:stream httpx2:AsyncClient
    httpx2:Client httpx2:stream io:open joblib:parallel_backend joblib:parallel_config lzma:open
    matplotlib.pyplot:ioff matplotlib.pyplot:ion matplotlib.pyplot:rc_context
    matplotlib.pyplot:xkcd matplotlib.style:context matplotlib:rc_context mlflow:start_run
    mmap:mmap mpmath:extradps mpmath:workdps mpmath:workprec multiprocessing:Manager
    multiprocessing:Pool nbckpt:checkpoint nbckpt:recording numpy:errstate numpy:load
    numpy:printoptions os:fdopen os:popen os:scandir pandas:ExcelFile pandas:ExcelWriter
    pandas:HDFStore pandas:option_context pandas:read_csv pandas:read_json pathlib:Path.open
    PIL.Image:open polars:Config polars:StringCache rasterio:open requests:Session requests:get
    requests:post rich.progress:Progress seaborn:axes_style seaborn:color_palette
    seaborn:plotting_context shelve:open sklearn:config_context sqlite3:Connection sqlite3:connect
    subprocess:Popen tarfile:TarFile.open tarfile:open tempfile:NamedTemporaryFile
    tempfile:SpooledTemporaryFile tempfile:TemporaryDirectory tempfile:TemporaryFile
    threading:Condition threading:Semaphore torch.amp:autocast torch.profiler:profile
    torch.random:fork_rng torch:autocast torch:device torch:enable_grad torch:inference_mode
    torch:no_grad torch:set_grad_enabled tqdm.auto:tqdm tqdm.notebook:tqdm tqdm:tqdm tqdm:trange
    unittest.mock:patch unittest.mock:patch.dict unittest.mock:patch.object urllib.request:urlopen
    wandb:init warnings:catch_warnings wave:open xarray:open_dataset zipfile:ZipFile
    zipfile:ZipFile.open
"""
PASSING = tuple(tuple(name.split(":")) for name in _PUBLIC.split())
"""Classes, and functions that make managers, which are known to let exceptions pass."""

_PATHS = frozenset(".".join(name) for name in PASSING)
_LAST = frozenset(name.rpartition(".")[2] for _, name in PASSING)


class _Unloaded(NamedTuple):
    """Something of a library that is not loaded, or not yet made: what it is called there.

    So a name means the same in a kernel in which cells above were restored, and loaded nothing.
    """

    path: str

    @property
    def lets_pass(self) -> bool:
        """True if it is known, and its library is none of the user's."""
        return self.path in _PATHS and _is_of_library(self.path.partition(".")[0])


def lets_pass(manager: ast.expr, look_up: Callable[[str], object] | None) -> bool:
    """True if a `with` item lets every exception of its body pass.

    Parameters
    ----------
    look_up
        What a name means where the item runs; `UNKNOWN` if that cannot be told. None if there
        is no namespace to ask: then the name alone decides.
    """
    if look_up is None:
        return _spelled(manager) in _LAST
    try:
        if isinstance(manager, ast.Call):
            return _makes_passing(_meant(manager.func, look_up))
        value = _meant(manager, look_up)
        return value is not UNKNOWN and _passes(type(value))
    except user_code_errors():  # an object of the user's may do anything when it is looked at
        return False


def _spelled(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _spelled(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _meant(node: ast.expr, look_up: Callable[[str], object]) -> Any:
    """The object that a dotted name means, found without running any code of an object's own."""
    if isinstance(node, ast.Name):
        return look_up(node.id)
    if not isinstance(node, ast.Attribute):
        return UNKNOWN
    holder = _meant(node.value, look_up)
    if holder is UNKNOWN:
        return UNKNOWN
    if isinstance(holder, _Unloaded):
        return _Unloaded(f"{holder.path}.{node.attr}")
    if isinstance(holder, ModuleType):
        value = vars(holder).get(node.attr, UNKNOWN)
        return _lazily(holder, node.attr) if value is UNKNOWN else value
    kinds = holder.__mro__ if isinstance(holder, type) else type(holder).__mro__
    own = getattr(holder, "__dict__", {}) if not isinstance(holder, type) else {}
    if node.attr in own:
        return own[node.attr]
    for kind in kinds:
        if node.attr in vars(kind):
            found = vars(kind)[node.attr]
            return found.__func__ if isinstance(found, staticmethod | classmethod) else found
    return UNKNOWN


def _lazily(module: ModuleType, name: str) -> object:
    """A submodule, or what a module of a library gives when it is asked."""
    if submodule := sys.modules.get(f"{module.__name__}.{name}"):
        return submodule
    is_library = "site-packages" in str(getattr(module, "__file__", ""))
    is_library = is_library or module.__name__ == "nbckpt"
    unloaded = _Unloaded(f"{module.__name__}.{name}")
    return getattr(module, name, unloaded) if is_library else unloaded


def _is_of_library(name: str) -> bool:
    """True if a top module is Python's or an installed one, loaded or not."""
    if name in sys.stdlib_module_names:
        return True
    from importlib.util import find_spec

    spec = find_spec(name)
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    return any("site-packages" in place for place in places)


def _makes_passing(maker: Any) -> bool:
    """True if what a call of `maker` gives lets exceptions pass."""
    if maker is UNKNOWN:
        return False
    if isinstance(maker, _Unloaded):
        return maker.lets_pass
    if is_known(maker):
        return True
    if isinstance(maker, type):
        return type(maker).__call__ is type.__call__ and _is_made_plainly(maker) and _passes(maker)
    if isinstance(maker, MethodType):
        maker = maker.__func__
    if isinstance(maker, FunctionType) and _is_generated(maker):
        wrapped = maker.__wrapped__  # type: ignore[attr-defined]
        return isinstance(wrapped, FunctionType) and raises_again(wrapped.__code__)
    return False


def is_known(maker: Any) -> bool:
    """True if `maker` is one of `PASSING`, and not just something of that name."""
    return any(maker is one or _is_method(maker, one) for one in _loaded())


def _is_method(maker: object, one: object) -> bool:
    return type(maker) is type(one) is MethodType and maker == one


def _loaded() -> Iterator[object]:
    """The objects that `PASSING` names, of the modules that are loaded."""
    for module, name in PASSING:
        found: Any = sys.modules.get(module)
        if found is None:
            continue
        for part in name.split("."):
            found = getattr(found, part, None)
        yield found


def _is_made_plainly(kind: type) -> bool:
    """True if a call of a class gives an instance of that class."""
    makers = (base for base in kind.__mro__ if "__new__" in vars(base))
    return all(base.__module__ in sys.stdlib_module_names for base in makers)


def _passes(kind: type) -> bool:
    """True if instances of a class let exceptions pass, when they are used as managers."""
    if is_known(kind):
        return True
    exits = [_found(kind, name) for name in ("__exit__", "__aexit__")]
    there = [one for one in exits if one is not None]
    return bool(there) and all(_returns_nothing(one) for one in there)


def _found(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        if name in vars(base):
            if is_known(base):
                return _passing  # inherited from one that is known
            return vars(base)[name]
    return None


def _passing() -> None:
    return None


def _is_generated(maker: FunctionType) -> bool:
    """True if a function was made by `contextlib.contextmanager`, and by nobody else."""
    return (
        maker.__code__.co_filename == _file_of_contextlib()
        and maker.__code__.co_name == "helper"
        and hasattr(maker, "__wrapped__")
    )


def _file_of_contextlib() -> str:
    import contextlib

    return contextlib.contextmanager.__code__.co_filename


def _returns_nothing(function: object) -> bool:
    """True if a function can only return None or False."""
    return isinstance(function, FunctionType) and returns_nothing(function.__code__)


def returns_nothing(code: CodeType) -> bool:
    """True if code can only return None or False: it is not a generator's, and always says so."""
    if code.co_flags & 0x20:  # a generator
        return False
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("NOP", "EXTENDED_ARG")]
    for i, step in enumerate(steps):
        if step.opname == "RETURN_CONST" and step.argval not in (None, False):
            return False
        if step.opname == "RETURN_VALUE":
            before = steps[i - 1] if i else None
            is_constant = before is not None and before.opname == "LOAD_CONST"
            if not is_constant or before is None or before.argval not in (None, False):
                return False
            if step.is_jump_target:
                return False
    return True


def raises_again(code: CodeType) -> bool:
    """True if each handler of a generator ends by raising what it caught."""
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("NOP", "EXTENDED_ARG")]
    ends = (steps[i + 1] for i, s in enumerate(steps[:-1]) if s.opname == "POP_EXCEPT")
    return all(end.opname == "RERAISE" for end in ends)


def passing_items(tree: ast.Module, namespace: Mapping[str, object] | None) -> tuple[bool, ...]:
    """Of each `with` item, in the order of the text, whether it lets every exception pass."""
    items = once(tree, "items", lambda: _items_of(tree))
    if not items:
        return ()
    nodes = nodes_of(tree)
    look_up: Callable[[str], object] | None = None
    if namespace is not None:
        imported = imports_of(nodes)
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        stored |= {n.name for n in nodes if isinstance(n, kinds)}
        look_up = lookup_in(namespace, imported, frozenset(stored))
    return tuple(lets_pass(item.context_expr, look_up) for item in items)


def _items_of(tree: ast.Module) -> list[ast.withitem]:
    return [n for n in nodes_of(tree) if isinstance(n, ast.withitem)]


def lookup_in(
    namespace: Mapping[str, object], imported: Mapping[str, object], bound: frozenset[str]
) -> Callable[[str], object]:
    """A function from a name of a cell to its meaning: imported, in the namespace, or built in.

    Parameters
    ----------
    imported
        Names that the cell imports, and what they are if that is loaded.
    bound
        Names that the cell binds otherwise: what these mean is not known.
    """

    def look_up(name: str) -> object:
        if name in bound:
            return UNKNOWN
        if name in imported:
            return imported[name]
        if name in namespace:
            return namespace[name]
        return getattr(builtins, name, UNKNOWN)

    return look_up


def imports_of(nodes: list[ast.AST]) -> dict[str, object]:
    """The names that import statements bind → what they mean, as far as it is loaded."""
    return dict(_imports(nodes))


def _imports(nodes: list[ast.AST]) -> Iterator[tuple[str, object]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or top, sys.modules.get(top, _Unloaded(top))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module: Any = sys.modules.get(node.module)
            for alias in node.names:
                path = f"{node.module}.{alias.name}"
                held = sys.modules.get(path, _Unloaded(path))
                if module is not None:
                    held = vars(module).get(alias.name, held)
                yield alias.asname or alias.name, held
