"""Digest of a step's function: its code, and the user's code and values that it reaches.

Notes
-----
A walk through all of it takes a tenth of a millisecond or more, at each call, since a cell may have
defined any of it again or changed a list in place. Where nothing that was reached can change except
by being bound again, comparing identities is enough.
"""

from __future__ import annotations

import dis
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from nbckpt.digests import Digest
from nbckpt.fingerprint.code.bytecode import NOTHING, STORES
from nbckpt.fingerprint.keys.inputs import MODULE, Inputs
from nbckpt.fingerprint.user_names import DECORATED
from nbckpt.fingerprint.values.homes import is_named
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.model import Key

_ABSENT = object()


class Code(NamedTuple):
    """The digest of what a function does, and what it was made of."""

    digest: Digest
    key: Key


class Reached:
    """Tells what a function does now; remembers it as long as nothing was bound anew."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._known: tuple[Code, list[tuple[str, list[object]]], list[object]] | None = None

    def code(self) -> Code:
        """Digest and key of the function, as everything is now."""
        if self._known is not None:
            code, names, own = self._known
            if self._is_as_it_was(names, own):
                return code
        code, inputs = code_of(self._function)
        self._known = self._remembered(code, inputs)
        return code

    def _remembered(
        self, code: Code, inputs: Inputs
    ) -> tuple[Code, list[tuple[str, list[object]]], list[object]] | None:
        has_modules = any(name.startswith(MODULE) for name in inputs.definitions)
        if inputs.has_all or inputs.queries is not None or has_modules:
            return None
        namespace = self._function.__globals__
        own = _witnesses(self._function, namespace)
        names = []
        for name in {name for name, _ in inputs.seen if isinstance(name, str)}:
            witnesses = _witnesses(namespace.get(name, _ABSENT), namespace)
            if witnesses is None:
                return None
            names.append((name, witnesses))
        return None if own is None else (code, names, own)

    def _is_as_it_was(self, names: list[tuple[str, list[object]]], own: list[object]) -> bool:
        namespace = self._function.__globals__
        if not _are_same(_of_function(self._function), own):
            return False
        for name, before in names:
            value = namespace.get(name, _ABSENT)
            if value is not before[0]:
                return False
            if type(value) is FunctionType and not _are_same(_of_function(value), before):
                return False
        return True


def code_of(function: FunctionType) -> tuple[Code, Inputs]:
    """Digest and key of a function, computed again, and the inputs that they come from."""
    inputs = Inputs(function.__globals__, NOTHING, None)
    inputs.definition(function, frozenset())
    key = key_of_inputs(inputs)
    return Code(key.digest, key), inputs


def key_of_inputs(inputs: Inputs) -> Key:
    """Key of a step from the inputs that were collected."""
    variables, definitions = inputs.variables, inputs.definitions
    return Key("", dict(sorted(variables.items())), dict(sorted(definitions.items())))


class BoundGlobals:
    """The variables of the notebook that a function binds, or one that it reaches, as they are."""

    def __init__(self, function: FunctionType, code: Code) -> None:
        self._namespace = namespace = function.__globals__
        reached = [function, *(namespace.get(name) for name in code.key.functions)]
        own = [f for f in map(_undecorated, reached) if f and f.__globals__ is namespace]
        names = frozenset[str]().union(*(_stored_by(f.__code__) for f in own))
        self._before = {name: namespace.get(name, _ABSENT) for name in sorted(names)}

    def changed(self) -> str | None:
        """The first of them that is another object by now; None if all are what they were."""
        now = self._namespace
        changed = (n for n, value in self._before.items() if now.get(n, _ABSENT) is not value)
        return next(changed, None)


def _undecorated(value: object) -> FunctionType | None:
    """A function of the user's own, also of a step; None for anything else."""
    if type(value) is not FunctionType:
        return None
    made = vars(value).get(DECORATED)
    return _undecorated(made[1][0]) if made is not None else value


@lru_cache(maxsize=1_000)
def _stored_by(code: CodeType) -> frozenset[str]:
    own = {i.argval for i in dis.get_instructions(code) if i.opname in STORES}
    inside = (_stored_by(part) for part in code.co_consts if isinstance(part, CodeType))
    return frozenset(own).union(*inside)


def _are_same(one: list[object] | None, other: list[object]) -> bool:
    if one is None or len(one) != len(other):
        return False
    return all(a is b for a, b in zip(one, other, strict=True))


def _witnesses(value: object, namespace: Mapping[str, object]) -> list[object] | None:
    """Objects that are others when `value` is; None if it can change and stay the same."""
    if value is _ABSENT or type(value) in ATOMS or type(value) is ModuleType:
        return [value]
    if is_named(value, namespace):
        return [value]
    return _of_function(value) if type(value) is FunctionType else None


def _of_function(function: FunctionType) -> list[object] | None:
    """The same of a function of the user's own; None if it holds what can change."""
    made = vars(function).get(DECORATED)
    if made is not None:
        wrapped = made[1][0]
        inside = _of_function(wrapped)
        return None if inside is None else [function, *inside]
    if vars(function) or function.__kwdefaults__ or function.__closure__:
        return None
    defaults: tuple[Any, ...] = function.__defaults__ or ()
    if not all(type(value) in ATOMS for value in defaults):
        return None
    return [function, function.__code__, *defaults]
