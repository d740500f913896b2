"""The notebook's objects in settings: a formatter of pandas, a filter of a logger."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from nbckpt.capture.observation.process_state.kinds import ABSENT, Reading
from nbckpt.capture.observation.process_state.logger_objects import Held
from nbckpt.capture.observation.process_state.state_json import OfVariable
from nbckpt.digests import Digest, Json, digest_of_json
from nbckpt.fingerprint.code import Names
from nbckpt.fingerprint.keys.inputs import Inputs
from nbckpt.fingerprint.keys.reach import definitions_in
from nbckpt.fingerprint.referents import names_reached
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values import ValueDigester
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.runtime.user_code_errors import user_code_errors


def held_in(reading: Reading, namespace: Mapping[str, object]) -> dict[str, list[Any]]:
    """Item → the notebook's objects that it holds; items without any are left out."""
    if reading.held is None:
        reading.held = {
            item: held
            for item, value in reading.changed.items()
            if value is not ABSENT and (held := [*objects_in(value, namespace)])
        }
    if not reading.held:
        return reading.held
    return {
        item: [namespace.get(o.name) if type(o) is OfVariable else o for o in held]
        for item, held in reading.held.items()
    }


def reads_of(reading: Reading, namespace: Mapping[str, object]) -> dict[str, Digest]:
    """Of each item that holds objects of the notebook, a digest of the variables they reach.

    Those that their code reads, and those that hold what they hold. One that nothing equals where
    nobody can tell it.
    """
    found = {}
    for item, held in held_in(reading, namespace).items():
        reached = sorted(names_reached(held, filter(is_user_name, namespace), namespace))
        if reached or any(definitions_in(v, namespace) != [] for v in held):
            found[item] = _digest(held, reached, namespace)
    return found


def _digest(held: list[Any], reached: list[str], namespace: Mapping[str, object]) -> Digest:
    values = {n: ValueDigester(namespace).examine(namespace[n]) for n in reached}
    if any(examined.unknown for examined in values.values()):
        return secrets.token_hex(16)
    inputs = Inputs(namespace, Names(), None)
    try:
        inputs.value("held", held, frozenset())
    except user_code_errors():  # whatever its own code raises when it is looked at
        return secrets.token_hex(16)
    digests: dict[str, Json] = {n: examined.digest for n, examined in values.items()}
    return digest_of_json([inputs.variables, inputs.definitions, digests])


def objects_in(value: Any, namespace: Mapping[str, object]) -> Iterator[Any]:
    """The objects of the notebook in a value of an item, or the variables that hold them."""
    if type(value) in ATOMS:
        return
    if type(value) is OfVariable:
        yield value  # who holds that name is asked when it matters
    elif type(value) is Held:  # of no object but the notebook's one is made
        yield value.value
        yield from objects_in(value.parts, namespace)
    elif type(value) in {list, tuple, set, frozenset}:
        for part in value:
            yield from objects_in(part, namespace)
    elif type(value) is dict:
        for part in value.values():
            yield from objects_in(part, namespace)
    elif definitions_in(value, namespace) != []:
        yield value


def mapped(value: Any, new_of: Callable[[Any], Any]) -> Any:
    """A value of an item with other objects in it."""
    if type(value) is Held:
        return replace(value, value=new_of(value.value), parts=mapped(value.parts, new_of))
    if type(value) in {list, tuple}:
        return type(value)(mapped(part, new_of) for part in value)
    return new_of(value)
