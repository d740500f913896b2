"""The user's own modules: files beside the notebook, which change as the notebook does.

Of a module that is loaded, what is loaded counts (`modules`); of another, the text of its file.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from itertools import chain
from pathlib import Path
from types import FunctionType, ModuleType

from nbckpt.digests import Digest, digest_of
from nbckpt.fingerprint.code.scopes import digest_of_tree
from nbckpt.fingerprint.values.homes import is_user_file, module_of, space_of_module
from nbckpt.runtime.source_trees import parse


@dataclass(frozen=True, slots=True)
class _Source:
    """The text of one module, read.

    Attributes
    ----------
    digest
        Of all of it.
    imports
        The full names of what it may import.
    names
        Of variables and attributes in it.
    """

    digest: Digest
    imports: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


def user_modules(name: str) -> tuple[str, ...]:
    """The user's modules that `name` loads, itself included, sorted.

    Empty if `name` is a library's module, or none. Nothing is imported to find out.
    """
    found: set[str] = set()
    waiting = [name]
    seen = set()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        if source := _source_of(module):
            found.add(module)
            waiting.extend([*source.imports, *_modules_in(module)])
    return tuple(sorted(found))


def names_in(name: str) -> frozenset[str]:
    """The names of variables and attributes in the user's modules that `name` loads."""
    sources = map(_source_of, user_modules(name))
    return frozenset().union(*(source.names for source in sources if source))


def is_made_here(name: str) -> bool:
    """True if a module is of no file: somebody put it into `sys.modules`."""
    module = sys.modules.get(name)
    return (
        type(module) is ModuleType
        and name != "__main__"
        and not any(getattr(module, part, None) for part in ("__spec__", "__file__", "__loader__"))
    )


def text_digest(name: str) -> Digest:
    """The digest of the text of one of the user's modules, as its file is now."""
    source = _source_of(name)
    return source.digest if source else digest_of("gone")


def _source_of(module: str) -> _Source | None:
    spec = _spec_of(module)
    if spec is None or spec.origin is None or not is_user_file(spec.origin):
        return None
    is_package = spec.submodule_search_locations is not None
    package = module if is_package else module.rpartition(".")[0]
    try:
        about = Path(spec.origin).stat()
        return _read(spec.origin, package, (about.st_mtime_ns, about.st_ctime_ns, about.st_size))
    except OSError:  # it may be loaded all the same
        return _Source(digest_of("gone")) if module in sys.modules else None


def _modules_in(name: str) -> Iterator[str]:
    """The modules that a loaded one holds, or holds anything of."""
    for value in list(space_of_module(name).values()):
        if issubclass(type(value), ModuleType | FunctionType | type):
            yield module_of(value)


def _spec_of(module: str) -> ModuleSpec | None:
    """Spec by which `module` was or would be found; its parents are not imported for that."""
    top, _, rest = module.partition(".")
    if not top or top in sys.stdlib_module_names or top == "__main__":
        return None
    if module in sys.modules:
        spec = space_of_module(module).get("__spec__")
        return spec if isinstance(spec, ModuleSpec) else None
    parent, _, _ = module.rpartition(".")
    places = None
    if rest:
        above = _spec_of(parent)
        if above is None or above.submodule_search_locations is None:
            return None
        if not _is_user_package(above):
            return None
        places = list(above.submodule_search_locations)
    try:
        return PathFinder.find_spec(module, places)
    except (ImportError, ValueError):
        return None


def _is_user_package(spec: ModuleSpec) -> bool:
    folders = spec.submodule_search_locations or ()
    return any(is_user_file(str(Path(folder) / "__init__.py")) for folder in folders)


@lru_cache(maxsize=4096)
def _read(origin: str, package: str, _: tuple[int, ...]) -> _Source:
    """A file that is as it was at some time and size."""
    data = Path(origin).read_bytes()
    if not origin.endswith(".py"):
        return _Source(digest_of(data))
    try:
        tree = parse(data)
        digest = digest_of_tree(tree)
    except (SyntaxError, ValueError, RecursionError):
        return _Source(digest_of(data))
    imports = tuple(sorted(set(_imports(tree, package))))
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Name | ast.Attribute)]
    names = frozenset(n.id if isinstance(n, ast.Name) else n.attr for n in nodes)
    return _Source(digest, imports, names)


MOST_FOLDERS = 100
"""Folders beside the notebook that are looked into for modules."""


def names_beside() -> tuple[str, ...] | None:
    """The files beside the notebook that can be imported, sorted; None if there are very many.

    One that is new there may be what a cell imports from now on, or hide a library's.
    """
    # Each step asks: `Path` takes ten times as long.
    try:
        here = os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        return None
    tops = _users_folders(tuple(sys.path), here)
    waiting = list(tops)
    seen: dict[str, list[str]] = {}
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen[folder] = []
        try:
            changed_at = os.stat(folder).st_mtime_ns  # noqa: PTH116
            seen[folder], folders = _listed(folder, changed_at)
        except OSError:  # of `sys.path`, most often: it need not be there
            continue
        if seen[folder] or folder in tops:  # else it holds data
            waiting += folders
        if len(seen) + len(waiting) > MOST_FOLDERS:
            return None
    found = chain.from_iterable(seen.values())
    return tuple(sorted(file.removeprefix(f"{here}{os.sep}") for file in found))


@lru_cache(maxsize=64)
def _users_folders(path: tuple[str, ...], here: str) -> tuple[str, ...]:
    """Those of `sys.path` that are the user's."""
    folders = dict.fromkeys(Path(here, place) for place in path)
    return tuple(str(f) for f in folders if is_user_file(str(f / "__init__.py")))


@lru_cache(maxsize=10 * MOST_FOLDERS)
def _listed(folder: str, _: int) -> tuple[list[str], list[str]]:
    """The modules' files, and the folders, in a folder that was changed at some time."""
    files, folders = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".so", ".pyd")):
                files.append(entry.path)
            elif entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir():
                folders.append(entry.path)
    return files, folders


def imported_by(path: Path) -> tuple[list[str], list[Path]]:
    """The user's modules that a script imports: those that are found, and files beside it."""
    modules: set[str] = set()
    files: dict[Path, None] = {}
    waiting = [path]
    while waiting:
        script = waiting.pop()
        try:
            names = set(_imports(parse(script.read_bytes()), ""))
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        for name in sorted(names):
            modules.update(user_modules(name))
            beside = path.parent.joinpath(*name.split("."))
            for file in (beside.with_suffix(".py"), beside / "__init__.py"):
                if name and file.is_file() and file not in files:
                    files[file] = None
                    waiting.append(file)
    return sorted(modules), list(files)


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            try:
                base = resolve_name(relative, package) if node.level else relative
            except ImportError:
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
