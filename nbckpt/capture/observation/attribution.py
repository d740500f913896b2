"""Whose doing a change of a library is: the notebook's, or the library's own."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from nbckpt.capture.observation.attached import is_named_module
from nbckpt.capture.observation.call_arguments import given_by, is_argument, statement_calls
from nbckpt.capture.observation.changes import ABSENT, Change
from nbckpt.capture.observation.libraries import Libraries
from nbckpt.capture.observation.ownership import is_of_another_library, is_users
from nbckpt.capture.observation.registries import TABLES, is_bookkeeping
from nbckpt.capture.observation.stores import Codes, can_set, resolved, texts_of
from nbckpt.capture.observation.words_of_code import words_of_all, words_of_tree
from nbckpt.fingerprint.code.bytecode import words_of
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.definitions import BOOKKEEPING
from nbckpt.fingerprint.values.homes import is_users_module, module_of
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.segments import is_plain

_BY_TEXT = frozenset(owner for found in TABLES.values() for owner in found)
"""Registries in which a name counts that the cell's text has."""

_SETTING_UP = re.compile(
    r"(init|initiali[sz]e|set_?up|install|configure|enable|disable|activate)(_\w+)?"
)
"""Names of functions that are called for the objects that they set in their own module.

A flag that says that it was done is the library's own.
"""


@dataclass(frozen=True)
class Attribution(Own):
    """Tells the notebook's changes from those that libraries make of themselves.

    What counts is code or an instance of the user's, what one library puts into another when it is
    called, and a name that the cell, or a function of the notebook, sets on something.
    """

    namespace: Mapping[str, object]
    libraries: Libraries

    def counts(self, change: Change, tree: ast.Module | None, codes: Codes) -> bool:
        """True if a change is the notebook's doing, not a library's own."""
        if change.kind in ("abc", "function"):  # found by the notebook's own text
            return True
        if change.owner == "sys.modules":
            return self._counts_as_module(change, tree)
        new = change.new
        if new is not ABSENT and is_users(new, self.namespace):
            return True
        if change.kind == "registry":
            if is_users(change.key, self.namespace):
                return True
            # What is no plain value may be what the library keeps of what it made or read.
            is_told = change.owner in _BY_TEXT or new is ABSENT or is_plain(new)
            return tree is not None and is_told and change.name in texts_of(tree, codes)
        if change.kind == "list" or tree is None:
            return False
        if is_of_another_library(new, change.owner, self.namespace):
            return self._is_named(new, tree)
        if issubclass(type(new), ModuleType) and sys.modules.get(f"{change.owner}.{change.name}"):
            return False  # it was imported
        if self._is_set_unnamed(change, tree, codes) or self._is_given(change, tree):
            return True
        # Shells, tests and progress bars swap the streams of `sys` all the time.
        own = codes.notebook if change.owner == "sys" else codes.all()

        def is_its(holder: object) -> bool:
            return self.libraries.owner_of(holder) == (change.kind, change.owner)

        return can_set(is_its, change.name, tree, self.namespace, own)

    def _is_set_unnamed(self, change: Change, tree: ast.Module, codes: Codes) -> bool:
        """True if a cell that can set names which stand nowhere may have set this.

        Its value is the notebook's, or its name stands in a text that the cell has.
        """
        if not codes.sets_unnamed or (change.kind == "class" and change.name in BOOKKEEPING):
            return False  # pydantic completes a class when it is first used
        given = given_by(tree, codes.reached, self.namespace)
        if change.name in frozenset().union(*map(words_of, given.strings)):
            return True
        if change.new is ABSENT:
            return True
        kind = type(change.new)
        return given.has(change.new) or (kind in ATOMS and (kind, change.new) in given.numbers)

    def _is_given(self, change: Change, tree: ast.Module) -> bool:
        """True if a cell gave it to a function of its module, called for what that does.

        ``urllib.request.install_opener(opener)`` sets an attribute of its own module.
        """
        if change.kind != "module" or is_bookkeeping(change.name):
            return False
        own = self.libraries.table("module", change.owner)
        calls = ((resolved(call.func, self.namespace), call) for call in statement_calls(tree))
        return any(
            type(function) is FunctionType
            and function.__globals__ is own
            and (
                is_argument(change.new, call, self.namespace)
                or (
                    type(change.new) not in ATOMS
                    and _SETTING_UP.fullmatch(function.__name__) is not None
                )
            )
            for function, call in calls
        )

    def _is_named(self, value: object, tree: ast.Module) -> bool:
        """True if a cell names the library of `value`; else some library asked for it by itself.

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


def _library_of(value: object) -> str:
    """The top package of a module, a function or class, or of an instance's class."""
    kind = type(value)
    if issubclass(kind, BuiltinFunctionType | MethodType):
        return str(getattr(value, "__module__", None)).partition(".")[0]
    return module_of(value).partition(".")[0]
