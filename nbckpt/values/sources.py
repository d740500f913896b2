"""The user's own modules: files beside the notebook, which change as the notebook does.

A key follows them by the text of their files, and the files that those import.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from pathlib import Path

from nbckpt.analysis.scopes import digest_of_tree
from nbckpt.digests import Digest, digest_of


@dataclass(frozen=True, slots=True)
class _Source:
    """The text of one module, read: its digest, and the full names that it may import."""

    digest: Digest
    imports: tuple[str, ...]


@dataclass(slots=True)
class _Loaded:
    """What the file of a loaded module said when it was first asked about.

    An edit has no effect until the module is loaded again, which gives it another spec.
    """

    by_module: dict[str, tuple[ModuleSpec, _Source]] = field(default_factory=dict)


_LOADED = _Loaded()


def user_modules(name: str) -> Mapping[str, Digest]:
    """Each of the user's modules that `name` loads, itself included, with the digest of its text.

    Empty if `name` is a library's module, or none. Nothing is imported to find out.
    """
    found: dict[str, Digest] = {}
    waiting = [name]
    seen = set()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        if source := _source_of(module):
            found[module] = source.digest
            waiting.extend(source.imports)
    return dict(sorted(found.items()))


def is_user_file(path: str | None) -> bool:
    """Whether a module's file is the user's: not of Python, an installed package, or nbckpt."""
    if not path or path.startswith("<"):
        return False
    file = Path(path)
    if {"site-packages", "dist-packages"}.intersection(file.parts):
        return False
    return not any(file.is_relative_to(folder) for folder in _library_folders())


@cache
def _library_folders() -> tuple[Path, ...]:
    # Not `sys.prefix` itself: with Python in /usr, a project in /usr/src is still the user's.
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [Path(sysconfig.get_path(kind)) for kind in kinds]
    return (*folders, *(f.resolve() for f in folders), Path(__file__).parent.parent)


def _source_of(module: str) -> _Source | None:
    spec = _spec_of(module)
    if spec is None or not is_user_file(spec.origin):
        return None
    if module not in sys.modules:
        return _read(module, spec)
    known = _LOADED.by_module.get(module)
    if known is None or known[0] is not spec:
        source = _read(module, spec)
        if source is None:
            return None
        known = _LOADED.by_module[module] = (spec, source)
    return known[1]


def _spec_of(module: str) -> ModuleSpec | None:
    """How `module` was or would be found; its parents are not imported for that."""
    top, _, rest = module.partition(".")
    if not top or top in sys.stdlib_module_names or top == "__main__":
        return None
    if module in sys.modules:
        return getattr(sys.modules[module], "__spec__", None)
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


def _read(module: str, spec: ModuleSpec) -> _Source | None:
    assert spec.origin is not None
    try:
        data = Path(spec.origin).read_bytes()
    except OSError:
        return None
    if not spec.origin.endswith(".py"):
        return _Source(digest_of(data), ())
    try:
        tree = ast.parse(data)
        digest = digest_of_tree(tree)
    except (SyntaxError, ValueError, RecursionError):
        return _Source(digest_of(data), ())
    package = module if spec.submodule_search_locations is not None else module.rpartition(".")[0]
    return _Source(digest, tuple(sorted(set(_imports(tree, package)))))


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
