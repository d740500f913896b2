"""Names in code of files that Arrow, polars, DuckDB and others open without Python.

They are the texts and paths among the constants of a cell, of the user's functions that it calls,
and in the variables that it reads. `named_paths` looks for them on the disk.
"""

from __future__ import annotations

import ast
import glob
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.capture.observation.texts_of_libraries import column_items, texts_of
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.values.homes import (
    is_user_file,
    is_users_module,
    module_of,
    module_of_class,
)
from nbckpt.fingerprint.values.plain import ATOMS, CONTAINERS, FEW, levels_of
from nbckpt.runtime.user_code_errors import user_code_errors

MAX_TEXTS = 500
"""Texts of one cell to look for on the disk."""

MAX_ASKED = 5_000
"""The same, and elements of one container, of a cell that asks for files without opening them."""

MAX_PATH = 1_000
"""Letters of a path; a longer text is none."""

MAX_ITEMS = 1_000
"""Elements of a container to look at."""


ASKS = frozenset(
    {
        *("exists", "lexists", "isfile", "isdir", "is_file", "is_dir", "stat", "lstat"),
        *("getsize", "getmtime", "getctime", "getatime", "access", "islink"),
    }
)
"""Calls that ask for a file without opening it: an absent one is an answer."""

_WRAPPERS: Mapping[type, str] = {
    property: "fget",
    cached_property: "func",
    staticmethod: "__func__",
    classmethod: "__func__",
}
"""What wraps a function of a class → where that has it."""
_PATHS = (str, bytes)
_NO_TEXTS = ATOMS - {*_PATHS}


def _is_environment(value: object) -> bool:
    """True for what reads the environment, under whatever name code has it."""
    return any(value is known for known in (os.environ, os.getenv))


class Named:
    """Names in code: texts that may be paths, and the names of functions that it calls.

    Attributes
    ----------
    texts
        In the order in which they were met, each once.
    calls
        Attributes and functions that the code mentions.
    asks
        True if files are asked for without being opened.
    is_full
        True if there is more than is looked at.
    uses_modules
        True if code of a module beside the notebook may run.
    """

    def __init__(self, tree: ast.Module, names: Iterable[str], namespace: Mapping[str, object]):
        self.texts: dict[str, None] = {}
        self.calls: set[str] = set()
        self.asks = False
        self.is_full = self.uses_modules = False
        self._followed: set[str] = set()
        self.namespace = namespace
        self.has_calls = any(isinstance(n, ast.Call | ast.With | ast.For) for n in _running(tree))
        self._collect(tree, sorted(names))
        if self.asks:  # more counts then, also of what was met before that was known
            self.texts, self.is_full = {}, False
            self._followed.clear()
            self._collect(tree, sorted(names))

    def _collect(self, tree: ast.Module, names: Sequence[str]) -> None:
        self._of_tree(tree)
        self.calls.update("environ" for n in names if _is_environment(self.namespace.get(n)))
        if self.has_calls or "environ" in self.calls:
            for name in names:
                if name in self.namespace:
                    self._of_value(self.namespace[name])

    def _add(self, text: str | bytes) -> None:
        if isinstance(text, bytes):
            text = os.fsdecode(text[:MAX_PATH])
        is_short = len(text) < 2 and not text.isalnum()  # a separator, not a file
        if is_short or len(text) >= 100_000:
            return
        if len(self.texts) < (MAX_ASKED if self.asks else MAX_TEXTS):
            self.texts[text] = None
        else:
            self.is_full = self.is_full or text not in self.texts

    def _call(self, *names: str) -> None:
        self.calls.update(names)
        self.asks = self.asks or not ASKS.isdisjoint(names)

    def _items(self, items: Collection[Any]) -> Iterator[Any]:
        limit = MAX_ASKED if self.asks else MAX_ITEMS
        if len(items) > limit:
            some = islice(items, limit)
            self.is_full = self.is_full or any(issubclass(type(i), str | PurePath) for i in some)
        return islice(items, limit)

    def _of_tree(self, tree: ast.Module) -> None:
        for node in nodes_of(tree):
            if isinstance(node, ast.Constant):
                if type(node.value) in _PATHS:
                    self._add(node.value)  # type: ignore[arg-type]
            elif isinstance(node, ast.Attribute | ast.alias):
                self._call(node.attr if isinstance(node, ast.Attribute) else node.name)
            elif isinstance(node, ast.Name):
                self._call(node.id)
            elif isinstance(node, ast.JoinedStr):
                self._add(self._pattern(node))

    def _pattern(self, node: ast.JoinedStr) -> str:
        """An f-string as a pattern: the values of plain names, and `*` for all else."""
        parts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(glob.escape(str(part.value)))
                continue
            inside = part.value if isinstance(part, ast.FormattedValue) else part
            value = self.namespace.get(inside.id) if isinstance(inside, ast.Name) else None
            is_plain = issubclass(type(value), str | PurePath) and not isinstance(inside, ast.Call)
            parts.append(str(value) if is_plain and len(str(value)) > 1 else "*")
        return "".join(parts)

    def _of_value(self, value: Any, depth: int = 0) -> None:
        kind = type(value)
        if kind in _PATHS:
            self._add(value)
        elif kind in ATOMS:
            return
        elif issubclass(kind, PurePath):
            self._add(str(value))
        elif kind in CONTAINERS and depth < 3 and self._of_plain(value, 3 - depth):
            return
        elif kind in {list, tuple, set, frozenset} and depth < 3:
            self._of_items(value, depth + 1)
        elif kind is dict and depth < 3:
            items = [*value.values(), *value] if self.asks else value.values()
            self._of_items(items, depth + 1)
        elif issubclass(kind, str):
            self._add(str.__str__(value))
        elif issubclass(kind, FunctionType | MethodType):
            self._of_code(getattr(value, "__code__", None))
            self._of_closure(value, depth)
            self._of_definitions(value)
            if module_of(value) != "__main__":
                self._calls_in(sys.modules.get(module_of(value)))
        elif issubclass(kind, ModuleType):
            self._calls_in(value)
        elif issubclass(type(value), type):
            self._note_module(module_of(value))
            self._of_class(value)
        else:
            self._note_module(module_of_class(kind))
            if self.asks and module_of_class(kind).partition(".")[0] in ("pandas", "numpy"):
                self._of_items(column_items(value, MAX_ASKED), depth + 1)
            for text in texts_of(value, MAX_ITEMS):
                self._add(text)
            if module_of_class(kind) == "__main__" and depth < 2:
                self._of_class(kind)
                for item in islice(_attributes(value), MAX_ITEMS):
                    self._of_value(item, depth + 1)

    def _note_module(self, name: str) -> None:
        self.uses_modules = self.uses_modules or (name != "__main__" and is_users_module(name))

    def _of_class(self, cls: type) -> None:
        """Collect from the functions of a class of the notebook, and what makes its fields."""
        if module_of(cls) != "__main__":
            return
        fields = [f.default_factory for f in vars(cls).get("__dataclass_fields__", {}).values()]
        for member in [*vars(cls).values(), *fields]:
            if issubclass(type(member), str):
                self._add(str.__str__(member))
            inner = _WRAPPERS.get(type(member))
            function = member if inner is None else getattr(member, inner)
            self._of_code(getattr(function, "__code__", None))

    def _of_definitions(self, function: Any) -> None:
        """Collect from the functions and classes of the notebook that a function names, once."""
        code, members = getattr(function, "__code__", None), getattr(function, "__globals__", {})
        if not isinstance(code, CodeType) or module_of(function) != "__main__":
            return
        for inner in (code, *(c for c in code.co_consts if isinstance(c, CodeType))):
            for name in inner.co_names:
                value = members.get(name)
                is_definition = issubclass(type(value), FunctionType | type)
                if is_definition and name not in self._followed and module_of(value) == "__main__":
                    self._followed.add(name)
                    self._of_value(value)

    def _of_closure(self, function: Any, depth: int) -> None:
        """Collect from the variables that a function has of the one around it."""
        if depth < 3:
            for cell in getattr(function, "__closure__", None) or ():
                with suppress(ValueError):  # it is not bound yet
                    self._of_value(cell.cell_contents, depth + 1)

    def _of_plain(self, root: Any, depth: int) -> bool:
        """Collect the texts of plain data, a level at a time; False if it is other data.

        Of a long list or dict only what is looked at is asked for: all of it takes as long as to
        encode it.
        """
        if self.asks or len(root) < FEW:
            return False
        is_cut = len(root) > MAX_ITEMS
        items = root.values() if type(root) is dict else root
        levels = levels_of([[*islice(items, MAX_ITEMS)] if is_cut else root])
        if levels is None:
            return False
        if is_cut or any(max(map(len, level)) > MAX_ITEMS for level in levels[:depth]):
            self._of_plain_in_order(root, depth)  # what is left out depends on it
            return True
        found: dict[str | bytes, None] = {}
        for level in levels[:depth]:
            inside = chain.from_iterable(v.values() if type(v) is dict else v for v in level)
            found.update(dict.fromkeys(item for item in inside if type(item) in _PATHS))
        new = [text for text in found if text not in self.texts]
        if len(self.texts) + len(new) > MAX_TEXTS:
            self._of_plain_in_order(root, depth)
        else:
            for text in new:
                self._add(text)
        return True

    def _of_plain_in_order(self, root: Any, depth: int) -> None:
        """Collect the texts of plain data one by one, until there are as many as can be."""
        for item in self._items(root.values() if type(root) is dict else root):
            if self.is_full and len(self.texts) >= MAX_TEXTS:
                return
            if type(item) in _PATHS:
                if item not in self.texts:
                    self._add(item)
            elif type(item) in CONTAINERS and depth > 1:
                self._of_plain_in_order(item, depth - 1)

    def _of_items(self, items: Collection[Any], depth: int) -> None:
        """Collect from elements; texts that were met are most of them, and cost a look each."""
        texts = self.texts
        for item in self._items(items):
            kind = type(item)
            if kind is str:
                if item not in texts:
                    self._add(item)
            elif kind not in _NO_TEXTS:
                self._of_value(item, depth)

    def _of_code(self, code: object) -> None:
        if not isinstance(code, CodeType):
            return
        self._call(*code.co_names)
        for constant in code.co_consts:
            if type(constant) in _PATHS:
                self._add(constant)
            elif isinstance(constant, tuple):
                self._of_value(constant, 1)
            else:
                self._of_code(constant)

    def _calls_in(self, module: object) -> None:
        """Add the names in functions of a module beside the notebook: one of them calls another."""
        members = dict(getattr(module, "__dict__", {}))
        file = members.get("__file__")
        if isinstance(file, str) and is_user_file(file):
            self.uses_modules = True
            waiting = [getattr(member, "__code__", None) for member in members.values()]
            while waiting:
                code = waiting.pop()
                if isinstance(code, CodeType):
                    self._call(*code.co_names)
                    waiting += [c for c in code.co_consts if isinstance(c, CodeType)]


def _running(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a cell that run with it: not the bodies of functions that it defines."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [*node.decorator_list, *node.args.defaults]
            waiting += [default for default in node.args.kw_defaults if default is not None]
        elif isinstance(node, ast.Lambda):
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        else:
            waiting += ast.iter_child_nodes(node)


def scripts_of(tree: ast.Module) -> Iterator[str]:
    """The bodies of magics such as `%%bash`."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_magic = node.func.attr == "run_cell_magic" and len(node.args) == 3
            body = node.args[2] if is_magic else None
            if isinstance(body, ast.Constant) and isinstance(body.value, str):
                yield body.value


def _attributes(value: object) -> list[object]:
    try:
        return list(vars(value).values())
    except user_code_errors():  # it has none, or its own code keeps them
        return []
