"""Whose doing a change of a library is: the notebook's, or the library's own."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from nbckpt.analysis import nodes_of
from nbckpt.observation.attached import is_named_module
from nbckpt.observation.changes import ABSENT, Change
from nbckpt.observation.libraries import Libraries
from nbckpt.observation.ownership import is_of_another_library, is_users, is_users_module
from nbckpt.observation.registries import KEPT_ELSEWHERE, TABLES, is_bookkeeping
from nbckpt.observation.stores import (
    resolved,
    sets_what_no_text_names,
    stores_of,
    texts_of,
    words_of_all,
    words_of_tree,
)

_BY_TEXT = frozenset(owner for found in TABLES.values() for owner in found)
"""Registries in which a name counts that the cell's text has."""

_LAZY = frozenset({"matplotlib", "torch", *KEPT_ELSEWHERE})
"""Libraries that set attributes of their own when their functions are first called."""


@dataclass(frozen=True)
class Attribution:
    """Tells the notebook's changes from those that libraries make of themselves.

    What counts is code or an instance of the user's, what one library puts into another when it is
    called, and a name that the cell, or a function of the notebook, sets on something.
    """

    is_nbckpts_own = True

    namespace: Mapping[str, object]
    libraries: Libraries

    def counts(self, change: Change, tree: ast.Module | None) -> bool:
        """Whether a change is the notebook's doing, not a library's own."""
        if change.kind in ("abc", "function"):  # found by the notebook's own text
            return True
        if change.owner == "sys.modules":
            return self._counts_as_module(change, tree)
        new = change.new
        if new is not ABSENT and is_users(new, self.namespace):
            return True
        if change.kind == "registry":
            return is_users(change.key, self.namespace) or (
                tree is not None
                and change.owner in _BY_TEXT
                and change.name in texts_of(tree, self.namespace, self.libraries.user_modules)
            )
        if change.kind == "list" or tree is None:
            return False
        if is_of_another_library(new, change.owner, self.namespace):
            return self._is_named(new, tree)
        if issubclass(type(new), ModuleType) and sys.modules.get(f"{change.owner}.{change.name}"):
            return False  # it was imported
        if sets_what_no_text_names(tree):
            return not _is_code_of(new, change.owner)
        if change.kind == "module" and self._is_called(change, tree):
            return True
        # Shells, tests and progress bars swap the streams of `sys` all the time.
        modules = () if change.owner == "sys" else self.libraries.user_modules
        stores = stores_of(tree, self.namespace, modules)
        if change.name in stores.names:
            return True
        places = ((self.libraries.owner_of(h), n) for h, n in stores.places)
        return ((change.kind, change.owner), change.name) in places

    def _is_called(self, change: Change, tree: ast.Module) -> bool:
        """Whether a cell calls a function of a module for what it does, and no value of it is used.

        ``urllib.request.install_opener(opener)`` sets an attribute of its own module.
        """
        if change.owner.partition(".")[0] in _LAZY or is_bookkeeping(change.name):
            return False
        statements = [n for n in nodes_of(tree) if isinstance(n, ast.Expr)]
        shown = tree.body[-1] if _shows_result(self.namespace) else None
        for statement in statements:
            if statement is shown or not isinstance(statement.value, ast.Call):
                continue
            function = resolved(statement.value.func, self.namespace)
            if type(function) is FunctionType:
                own = function.__globals__
                if own is self.libraries.table("module", change.owner):
                    return True
        return False

    def _is_named(self, value: object, tree: ast.Module) -> bool:
        """Whether a cell names the library of `value`; else some library asked for it by itself.

        The first figure has matplotlib's inline backend put its functions into pyplot.
        """
        home = _library_of(value)
        words = words_of_tree(tree)
        return home in words or any(
            _library_of(self.namespace[word]) == home for word in words if word in self.namespace
        )

    def _counts_as_module(self, change: Change, tree: ast.Module | None) -> bool:
        if change.new is ABSENT or tree is None or is_named_module(change.new):
            return False
        if is_users_module(change.name):
            return False
        if is_users(change.new, self.namespace):
            return True
        return "modules" in words_of_tree(tree) or "modules" in words_of_all(self.namespace)


def _shows_result(namespace: Mapping[str, object]) -> bool:
    """Whether the cell that runs has a result, which a shell keeps under its number."""
    cells, results = namespace.get("In"), namespace.get("_oh")
    return type(cells) is list and type(results) is dict and len(cells) - 1 in results


def _is_code_of(value: object, owner: str) -> bool:
    """Whether `value` is a function, class or module of the library that it is put into."""
    kinds = ModuleType | FunctionType | BuiltinFunctionType | MethodType | type
    return issubclass(type(value), kinds) and _library_of(value) == owner.partition(".")[0]


def _library_of(value: object) -> str:
    """The top package of a module, a function or class, or of an instance's class."""
    kind = type(value)
    if issubclass(kind, ModuleType):
        name = value.__name__  # type: ignore[attr-defined]
    elif issubclass(kind, FunctionType | BuiltinFunctionType | MethodType | type):
        name = getattr(value, "__module__", None)
    else:
        name = kind.__module__
    return str(name).partition(".")[0]
