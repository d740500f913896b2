"""The step that walks a value: chosen once for each type."""

from __future__ import annotations

from enum import Enum

from nbckpt.fingerprint.values import callables, containers
from nbckpt.fingerprint.values.bare_types import is_bare
from nbckpt.fingerprint.values.frames import Alone, parts_for, parts_of_scalar
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.instances import (
    put_parts,
    walk_alone,
    walk_bare,
    walk_end,
    walk_immutable,
    walk_instance,
    walk_known,
    walk_told,
)
from nbckpt.fingerprint.values.opaque import teller_for
from nbckpt.fingerprint.values.views import walk_view
from nbckpt.fingerprint.values.walking import End, Step
from nbckpt.types.registry import adapter_for

IMMUTABLE = frozenset(
    {"datetime", "decimal", "fractions", "ipaddress", "pathlib", "re", "uuid", "zoneinfo"}
)
"""Homes of types whose instances are values."""

_STEPS: dict[type, Step] = {
    **containers.STEPS,
    **callables.STEPS,
    Alone: walk_alone,
    End: walk_end,
    memoryview: walk_view,
}


def step_for(kind: type) -> Step:
    """The step that walks values of a type."""
    if kind in _STEPS:
        return _STEPS[kind]
    if issubclass(kind, type):
        return callables.walk_class
    if (adapter := adapter_for(kind)) and (digest := adapter.digest):
        return lambda walk, value: walk_known(walk, digest, value)
    if is_bare(kind):
        return walk_bare
    if tell := teller_for(kind):
        return lambda walk, value: walk_told(walk, tell, value)
    if parts := parts_for(kind):
        step = put_parts if parts is parts_of_scalar else walk_known
        return lambda walk, value: step(walk, parts, value)
    home = module_of_class(kind)
    is_value = home.partition(".")[0] in IMMUTABLE or home.startswith("pandas._libs.tslibs")
    return walk_immutable if is_value or issubclass(kind, Enum) else walk_instance
