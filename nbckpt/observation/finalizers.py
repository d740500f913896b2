"""The notebook's own code that Python calls when an object goes: callbacks of weak references.

A `weakref.finalize` is no part of the object that it waits for, and no variable need hold it: a
cell that makes one runs again in each kernel.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from types import BuiltinFunctionType, MethodType
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
        names = names_of_tree(tree)
        found = called_at_end(names.binds | names.loads, self._namespace) if tree.body else {}
        self._called = [called for parts in found.values() for called in parts]

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
        return True if is_own or _of_notebook(made, ran.namespace) else None

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """That the step has to run, if it made finalizers."""
        if not observed:
            return None
        return "it has a function called when an object goes, which is no part of that object"


def _finalizers() -> list[weakref.finalize[Any, Any]]:
    """Those that wait: `weakref.finalize` holds them itself."""
    return [*getattr(weakref.finalize, "_registry", ())]


def _of_notebook(
    finalizers: Iterable[weakref.finalize[Any, Any]], namespace: Mapping[str, object]
) -> list[tuple[object, list[object]]]:
    """Those that call code or variables of the notebook: what each waits for, and what it calls.

    Those that wait for an instance of its classes, or of a module's beside it, call what that says.
    Libraries make hundreds: whether it is the notebook's is found out once for each.
    """
    found = []
    ids: set[int] = set()
    for one in finalizers:
        if _is_own.get(one) is False or (waiting := one.peek()) is None:
            continue
        waits_for, function, given, named = waiting
        called = [function, *given, *named.values()]
        if one not in _is_own:
            ids = ids or set(map(id, list(namespace.values())))
            is_of_variable = not ids.isdisjoint(map(_owner_id, called))
            parts = [waits_for, *called]
            _is_own[one] = is_of_variable or any(is_users(part, namespace) for part in parts)
        if _is_own[one]:
            found.append((waits_for, called))
    if len(_is_own) > MANY:
        for one in _is_own.keys() - {*_finalizers()}:
            del _is_own[one]
    return found


_is_own: dict[weakref.finalize[Any, Any], bool] = {}


def _owner_id(called: object) -> int:
    """The id of what is called; of a bound method, of its object."""
    is_method = type(called) in (MethodType, BuiltinFunctionType)
    return id(called.__self__ if is_method else called)  # type: ignore[attr-defined]


def called_at_end(names: Iterable[str], namespace: Mapping[str, object]) -> dict[str, list[object]]:
    """What is called of the notebook's, and with what, when values of variables go.

    Of weak references with a callback, those to a value and to what it directly holds are found.

    Returns
    -------
    dict[str, list[object]]
        Variable → functions and their arguments; without those for which nothing is called.
    """
    found: dict[str, list[object]] = {}
    waiting = _of_notebook(_finalizers(), namespace)
    for name in names:
        value = namespace.get(name)
        if type(value) in ATOMS:
            continue
        parts = [*directly_in(value)]
        called: list[object] = []
        for held in parts if any(map(weakref.getweakrefcount, parts)) else ():
            for reference in weakref.getweakrefs(held):
                if issubclass(type(reference), weakref.ref):  # a proxy asks its object
                    called += _callback_of(reference, namespace)
        if waiting:
            own = held_by([value], namespace)
            for waits_for, given in waiting:
                called += given if own is None or id(waits_for) in own else ()
        if called:
            found[name] = called
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
