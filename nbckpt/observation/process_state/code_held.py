"""What the notebook's code in a setting reads: a formatter of pandas, a filter of a logger."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from nbckpt.analysis import Names
from nbckpt.digests import Digest, digest_of_json
from nbckpt.keys.inputs import Inputs
from nbckpt.keys.reach import definitions_in
from nbckpt.observation.process_state.held import Held
from nbckpt.observation.process_state.kinds import ABSENT, Reading
from nbckpt.values.plain import ATOMS


def reads_of(reading: Reading, namespace: Mapping[str, object]) -> dict[str, Digest]:
    """Of each item that holds code of the notebook, a digest of the variables that this reads."""
    if reading.code is None:
        reading.code = {
            item: held
            for item, value in reading.changed.items()
            if value is not ABSENT
            and (held := [v for v in _objects_in(value) if definitions_in(v, namespace) != []])
        }
    return {item: _digest(held, namespace) for item, held in reading.code.items()}


def _digest(held: list[Any], namespace: Mapping[str, object]) -> Digest:
    inputs = Inputs(namespace, Names(), None)
    try:
        inputs.value("held", held, frozenset())
    except Exception:  # whatever its own code raises when it is looked at
        return secrets.token_hex(16)
    return digest_of_json([inputs.variables, inputs.definitions])


def _objects_in(value: Any) -> Iterator[Any]:
    """The objects that a value of an item is made of, without what can hold no code."""
    if type(value) in ATOMS:
        return
    if type(value) is Held:
        yield from _objects_in(value.value)
        yield from _objects_in(value.parts)
    elif type(value) in (list, tuple, set, frozenset):
        for part in value:
            yield from _objects_in(part)
    elif type(value) is dict:
        for part in value.values():
            yield from _objects_in(part)
    else:
        yield value
