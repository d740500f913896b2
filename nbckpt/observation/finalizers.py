"""The notebook's own code that Python calls when an object goes: callbacks of weak references.

A `weakref.finalize` is no part of the object that it waits for, and no variable need hold it: a
cell that makes one runs again in each kernel.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from nbckpt.analysis import names_of_tree
from nbckpt.digests import Json
from nbckpt.observation.called_back import touched_by
from nbckpt.observation.observer import Bystander, Ran
from nbckpt.observation.ownership import is_users
from nbckpt.observation.stores import words_reached
from nbckpt.referents import held_by
from nbckpt.values.plain import ATOMS

MANY = 1_000
"""Elements of a container that are looked at."""


class Finalizers(Bystander):
    """The facet of what is called when a cell drops objects: it changes variables unnamed.

    Parameters
    ----------
    namespace
        The live variables.
    touch
        Is told which variables may have changed unseen; None for any.
    """

    name = "finalizers"

    def __init__(
        self,
        namespace: Mapping[str, object],
        touch: Callable[[frozenset[str] | None], object],
    ) -> None:
        self._namespace = namespace
        self._touch = touch
        self._called: list[object] = []

    def cell_begins(self, tree: ast.Module) -> None:
        """Take note of what is called if the cell drops what its names hold."""
        now, names = self._namespace, names_of_tree(tree)
        found = (names.binds | names.loads) & now.keys() if tree.body else ()
        self._called = [c for n in found for c in called_at_end(now[n], now)]

    def cell_ends(self, tree: ast.Module) -> None:  # noqa: ARG002
        """Have those variables looked at that it may have changed."""
        called, self._called = self._called, []
        if called:
            self._touch(touched_by(called, self._namespace))

    def open(self) -> object:
        """A window; it knows which finalizers there were."""
        return set(_finalizers())

    def close(self, window: object, ran: Ran) -> Json:
        """True if the step made finalizers that wait still, and not a library for its own ends."""
        assert isinstance(window, set)
        made = [one for one in _finalizers() if one not in window]
        if not made:
            return None
        is_own = "finalize" in words_reached(ran.tree, ran.namespace)
        if is_own or any(_called_by(one, ran.namespace) for one in made):
            return True
        return None

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """That the step has to run, if it made finalizers."""
        if not observed:
            return None
        return "it has a function called when an object goes, which is no part of that object"


def _finalizers() -> list[weakref.finalize[Any, Any]]:
    """Those that wait: `weakref.finalize` holds them itself."""
    return [*getattr(weakref.finalize, "_registry", ())]


def _called_by(one: weakref.finalize[Any, Any], namespace: Mapping[str, object]) -> list[object]:
    """What a finalizer calls, and with what, if code or a variable of the notebook is among it."""
    waiting = one.peek()
    parts = [waiting[1], *waiting[2], *waiting[3].values()] if waiting is not None else []
    is_own = any(is_users(part, namespace) for part in parts)
    return parts if is_own or touched_by(parts, namespace) != frozenset() else []


def called_at_end(value: object, namespace: Mapping[str, object]) -> list[object]:
    """What is called of the notebook's, and with what, when a value goes, or what it holds.

    Of weak references with a callback, those to the value and to what it directly holds are found.
    """
    found: list[object] = []
    if type(value) in ATOMS:
        return found
    parts = [*directly_in(value)]
    for held in parts if any(map(weakref.getweakrefcount, parts)) else ():
        for reference in weakref.getweakrefs(held):
            if issubclass(type(reference), weakref.ref):  # a proxy asks its object
                found += _callback_of(reference, namespace)
    waiting = [(one.peek(), _called_by(one, namespace)) for one in _finalizers()]
    if any(called for _, called in waiting):
        own = held_by([value], namespace)
        for there, called in waiting:
            if called and there and (own is None or id(there[0]) in own):
                found += called
    return found


def _callback_of(reference: Any, namespace: Mapping[str, object]) -> list[object]:
    """The callback of a weak reference, and what a closure of the library's holds of the user's."""
    called = reference.__callback__
    if isinstance(called, weakref.finalize) or not is_users(called, namespace):
        return []
    parts = [called]
    for cell in getattr(called, "__closure__", None) or ():
        with suppress(ValueError):  # it is empty
            parts.append(cell.cell_contents)
    return parts


def directly_in(value: object) -> Iterator[object]:
    """A value, and the first elements of a container."""
    kind = type(value)
    yield value
    parts: Any = value.values() if kind is dict else value  # type: ignore[attr-defined]
    if kind in (list, tuple, set, frozenset, dict):
        with suppress(RuntimeError):  # a thread has put something in meanwhile
            yield from islice(parts, MANY)
