"""The notebook's own code that Python calls when an object goes: callbacks of weak references.

A `weakref.finalize` is no part of the object that it waits for, and no variable need hold it: a
cell that makes one runs again in each kernel.
"""

from __future__ import annotations

import ast
import dis
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import compress, islice
from types import AsyncGeneratorType, BuiltinFunctionType, CoroutineType, GeneratorType, MethodType
from typing import Any

from nbckpt.capture.observation.callback_changes import touched_by
from nbckpt.capture.observation.observer import Bystander, Ran
from nbckpt.capture.observation.ownership import is_users
from nbckpt.capture.observation.reachable_code import reached
from nbckpt.capture.observation.words_of_code import codes_reached, words_of_code
from nbckpt.digests import Json
from nbckpt.fingerprint.code import names_of_tree, nodes_of
from nbckpt.fingerprint.referents import held_by
from nbckpt.fingerprint.values.destructors import has_end
from nbckpt.fingerprint.values.holding import inside_of
from nbckpt.fingerprint.values.homes import is_users_module
from nbckpt.fingerprint.values.plain import ATOMS

MANY = 1_000
"""Finalizers that are remembered to be of libraries or the notebook's."""

AT_ONCE = 1_000
"""Objects that are looked at in a few calls into C."""

_SUSPENDED = {GeneratorType: "gi", CoroutineType: "cr", AsyncGeneratorType: "ag"}


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
        self._reached: frozenset[str] | None = frozenset()

    def cell_begins(self, tree: ast.Module) -> None:
        """Take note of what can change if the cell drops what its names hold.

        What is called is not held until the cell ends: it would end with it.
        """
        names = self._named(tree) if tree.body else ()
        found = called_at_end(names, self._namespace)
        called = [called for parts in found.values() for called in parts]
        self._reached = touched_by(called, self._namespace) if called else frozenset()

    def _named(self, tree: ast.Module) -> Collection[str]:
        """The variables that a cell, or a function that it may call, can let go of."""
        names = names_of_tree(tree)
        may_call = any(type(node) is ast.Call for node in nodes_of(tree))
        codes = codes_reached(tree, self._namespace) if may_call else []
        words = frozenset[str]().union(*map(words_of_code, codes))
        return names.binds | names.loads | words & self._namespace.keys()

    def cell_ends(self, tree: ast.Module) -> None:  # noqa: ARG002
        """Have those variables looked at that it may have changed."""
        if self._reached != frozenset():
            self._touch(self._reached)
        self._reached = frozenset()

    def open(self) -> object:
        """A window; it knows which finalizers there were."""
        return set(_finalizers())

    def close(self, window: object, ran: Ran) -> Json:
        """True if the step made finalizers that wait still, and not a library for its own ends."""
        assert isinstance(window, set)
        made = [one for one in _finalizers() if one not in window]
        if not made:
            return None
        is_own = "finalize" in reached(ran.tree, ran.namespace).words
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
    is_method = type(called) in {MethodType, BuiltinFunctionType}
    return id(called.__self__ if is_method else called)  # type: ignore[attr-defined]


def called_at_end(names: Iterable[str], namespace: Mapping[str, object]) -> dict[str, list[object]]:
    """The notebook's functions that are called, and with what, when values of variables go.

    Returns
    -------
    dict[str, list[object]]
        Variable → functions and their arguments, and objects with code for their end; without
        those for which nothing is called.
    """
    found: dict[str, list[object]] = {}
    values = {n: v for n in names if type(v := namespace.get(n)) not in ATOMS}
    waiting = _of_notebook(_finalizers(), namespace) if values else []
    is_any = len(values) < 2 or bool(waiting) or _may_call(values.values(), namespace)
    for name, value in values.items() if is_any else ():
        called: dict[int, object] = {}
        for held in inside_of([value], _may_be_waited_for):
            called |= _by_owner(_called_for(held, namespace))
        if waiting:
            own = held_by([value], namespace)
            for waits_for, given in waiting:
                called |= _by_owner(given) if own is None or id(waits_for) in own else {}
        if called:
            found[name] = list(called.values())
    return found


def _may_call(values: Iterable[object], namespace: Mapping[str, object]) -> bool:
    """True if anything in some values calls something when it goes; what they share once."""
    inside = inside_of(values, _may_be_waited_for)
    while some := [*islice(inside, AT_ONCE)]:
        acting = {kind for kind in set(map(type, some)) if kind in _SUSPENDED or has_end(kind)}
        held = [*compress(some, map(weakref.getweakrefcount, some))]
        if acting:
            held += [one for one in some if type(one) in acting]
        if any(True for one in held for _ in _called_for(one, namespace)):
            return True
    return False


def _called_for(held: Any, namespace: Mapping[str, object]) -> Iterator[object]:
    """Callbacks of the notebook for an object that goes; itself, if its class has code for that."""
    if weakref.getweakrefcount(held):
        for reference in weakref.getweakrefs(held):
            if issubclass(type(reference), weakref.ref):  # a proxy asks its object
                yield from _callback_of(reference, namespace)
    if has_end(type(held)) or _goes_on_at_its_end(held, namespace):
        yield held


def _may_be_waited_for(kind: type) -> bool:
    """True for what acts at its end itself, and for what weak references can be made to."""
    return kind.__weakrefoffset__ != 0 or kind in _SUSPENDED or has_end(kind)


def _by_owner(called: Iterable[object]) -> dict[int, object]:
    """Each once: a thousand finalizers may call the same method, which is another object each."""
    return {_owner_id(one): one for one in called}


def _goes_on_at_its_end(value: Any, namespace: Mapping[str, object]) -> bool:
    """True for a generator or coroutine of the user's that waits inside of a `try` or `with`."""
    prefix = _SUSPENDED.get(type(value))
    frame = getattr(value, f"{prefix}_frame", None) if prefix else None
    if frame is None or frame.f_lasti < 0:
        return False
    own = frame.f_globals
    if own is not namespace and not is_users_module(own.get("__name__")):
        return False
    code: Any = dis.Bytecode(frame.f_code)
    steps = {step.offset: step for step in code}
    return any(
        entry.start <= frame.f_lasti < entry.end and not _turns_stops(steps[entry.target])
        for entry in code.exception_entries
    )


def _turns_stops(step: dis.Instruction) -> bool:
    """True for the handler that all generators have since Python 3.12 (PEP 479)."""
    return step.opname == "CALL_INTRINSIC_1" and "STOPITERATION" in str(step.argrepr)


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
