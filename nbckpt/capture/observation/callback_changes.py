"""Variables changed by the notebook's objects that something else holds, and calls at any time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import ModuleType
from weakref import ReferenceType

from nbckpt.fingerprint import keys
from nbckpt.fingerprint.code.bytecode import union
from nbckpt.fingerprint.keys.reach import definitions_in, names_of_definition
from nbckpt.fingerprint.referents import names_reached
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.homes import is_named
from nbckpt.runtime.addresses import ids_of


def touched_by(held: Iterable[object], namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The variables that can change when code of `held` runs, or by what holds it; None for any.

    A logger calls the filter that it was given; code that names a library can change what that
    holds.
    """
    definitions: list[object] = []
    objects: list[object] = []
    for value in held:
        if is_named(value, namespace):
            continue
        found = definitions_in(value, namespace)
        if found is None:
            return None
        definitions += found
        if not isinstance(value, ModuleType | type):
            objects.append(_referred(value))
    changed: frozenset[str] | None = frozenset()
    if definitions:
        ids = set(ids_of(tuple(definitions)))  # a class holds what its methods count in it
        there = dict(namespace)
        which = ids_of(tuple(there.values()))
        own = frozenset(n for n, one in zip(there, which, strict=True) if one in ids)
        names = union(names_of_definition(d, namespace) for d in definitions)
        changed = keys.touched(replace(names, loads=names.loads | own), namespace)
    if changed is None or not objects:
        return changed
    return changed | names_reached(objects, filter(is_user_name, namespace), namespace)


def _referred(value: object) -> object:
    return value() if type(value) is ReferenceType else value
