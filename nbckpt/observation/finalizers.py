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
        """Whether the step made finalizers, not a library for its own ends, and they wait still."""
        assert isinstance(window, set)
        made = [one for one in _finalizers() if one not in window]
        if not made:
            return None
        is_own = "finalize" in words_reached(ran.tree, ran.namespace)
        return is_own or any(_given(one, ran.namespace) for one in made) or None

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """That the step has to run, if it made finalizers."""
        if not observed:
            return None
        return "it has a function called when an object goes, which is no part of that object"


def _finalizers() -> list[weakref.finalize[Any, Any]]:
    """Those that wait: `weakref.finalize` holds them itself."""
    return [*getattr(weakref.finalize, "_registry", ())]


def _given(one: weakref.finalize[Any, Any], namespace: Mapping[str, object]) -> list[object]:
    """What a finalizer calls, and with what; nothing if that is none of the notebook's."""
    waiting = one.peek()
    if waiting is None:
        return []
    parts = [waiting[1], *waiting[2], *waiting[3].values()]
    if any(is_users(part, namespace) for part in parts):
        return parts
    return [] if touched_by(parts, namespace) == frozenset() else parts


def called_at_end(value: object, namespace: Mapping[str, object]) -> list[object]:
    """The notebook's own functions that are called when a value, or what it directly holds, goes.

    And what they are called with, as `weakref.finalize` was given it.
    """
    found: list[object] = []
    parts = [*directly_in(value)]
    for held in parts if any(map(weakref.getweakrefcount, parts)) else ():
        for reference in weakref.getweakrefs(held):
            called: Any = reference.__callback__
            if isinstance(called, weakref.finalize):
                found += _given(called, namespace)
            elif is_users(called, namespace):
                found.append(called)
    return found


def directly_in(value: object) -> Iterator[object]:
    """A value, and the first elements of a container."""
    kind = type(value)
    yield value
    parts: Any = value.values() if kind is dict else value  # type: ignore[attr-defined]
    if kind in (list, tuple, set, frozenset, dict):
        with suppress(RuntimeError):  # a thread has put something in meanwhile
            yield from islice(parts, MANY)
