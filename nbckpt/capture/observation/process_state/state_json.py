"""Values of process state as JSON, with marks for what JSON does not have."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias, cast

from nbckpt.digests import Json, digest_of_json
from nbckpt.fingerprint.values.homes import found_in, home_of
from nbckpt.runtime.user_code_errors import user_code_errors

MARK = "$"
"""The member of a JSON object that stands for a value which JSON does not have."""

IS_ABSENT: Json = {MARK: "absent"}
IS_AS_BEFORE: Json = {MARK: "baseline"}
"""As the item was before the notebook changed it."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LONGEST = 200

State: TypeAlias = Mapping[str, Mapping[str, Json]]
"""Name of a kind → item → value, or its digest."""


@dataclass(frozen=True)
class OfVariable:
    """In place of an object that a variable holds: a record names it.

    Attributes
    ----------
    name
        The variable.
    value
        The object, where it was found there.
    """

    name: str
    value: Any = field(default=None, compare=False)


def short_digest(value: Json) -> str:
    """16 hex digits that tell a value."""
    return digest_of_json(value)[:16]


def secret_json(value: Json) -> Json:
    """What stands for a value that must not be written: another one is told from it."""
    return {MARK: "secret", "v": short_digest(value)}


def as_json(value: Any) -> Json:
    """A value as JSON; what JSON does not have is an object with a mark."""
    if value is None or type(value) in {bool, int, str}:
        plain: Json = value
        return plain
    if type(value) is float:
        return value if math.isfinite(value) else {MARK: "float", "v": repr(value)}
    if type(value) in {list, tuple}:
        return [as_json(v) for v in value]
    if type(value) in {set, frozenset}:
        return {MARK: "set", "v": sorted((as_json(v) for v in value), key=repr)}
    if type(value) is dict and all(type(k) is str and k != MARK for k in value):
        return {k: as_json(v) for k, v in value.items()}
    if type(value) is BuiltinFunctionType and type(value.__self__) is str:
        if value.__name__ == "format":  # '{:.2f}'.format, as pandas has it
            return {MARK: "format", "v": value.__self__}
        return {MARK: "other", "v": described(value)}
    if type(value) is OfVariable:
        return {MARK: "variable", "v": value.name}
    if isinstance(value, Enum) and home_of(type(value), {}) is not None:  # a library's
        return {MARK: "enum", "v": [type(value).__module__, type(value).__qualname__, value.name]}
    return {MARK: "other", "v": described(value)}


def from_json(value: Json) -> Any:
    """The value that `as_json` wrote."""
    if isinstance(value, list):
        return [from_json(v) for v in value]
    if not isinstance(value, dict):
        return value
    match value.get(MARK):
        case None:
            return {k: from_json(v) for k, v in value.items()}
        case "float":
            return float(str(value["v"]))
        case "set":
            return set(from_json(value["v"]))
        case "format":
            return str(value["v"]).format
        case "variable":
            return OfVariable(str(value["v"]))
        case "enum":
            module, name, member = map(str, cast("list[Json]", value["v"]))
            if (found := found_in(sys.modules.get(module), f"{name}.{member}")) is not None:
                return found
    message = f"{value.get('v')} cannot be set from a record"
    raise ValueError(message)


def names_variable(value: Json) -> bool:
    """True if a value can only be set once a variable is there."""
    if isinstance(value, list):
        return any(map(names_variable, value))
    if isinstance(value, dict):
        return value.get(MARK) == "variable" or any(map(names_variable, value.values()))
    return False


def is_settable(value: Json) -> bool:
    """True if a value can be set from its JSON."""
    if isinstance(value, list):
        return all(map(is_settable, value))
    if isinstance(value, dict):
        if value.get(MARK) in ("other", "secret"):
            return False
        return all(map(is_settable, value.values()))
    return True


def described(value: Any, depth: int = 3) -> str:
    """Description of a value, equal in every process; of code, with its digest and its settings.

    Parameters
    ----------
    depth
        Of functions in the closures of functions, which are described by what they are.
    """
    code = getattr(value, "__code__", None)
    try:
        if type(value) is FunctionType and code is not None:
            from nbckpt.fingerprint.code import (
                digest_of_code,  # what moves need is loaded without it
            )

            inside = [_held(c.cell_contents, depth - 1) for c in value.__closure__ or ()]
            more = short_digest([*inside, _plain(value.__defaults__)]) if inside else ""
            return f"function {value.__qualname__} {digest_of_code(code)[:16]}{more}"
        if hasattr(value, "__qualname__"):
            return f"{getattr(value, '__module__', '')}.{value.__qualname__}"
        return f"{type(value).__qualname__} {without_address(value)[:_LONGEST]}"
    except user_code_errors():  # whatever its own code raises
        return type(value).__qualname__


def _held(value: Any, depth: int) -> str:
    return described(value, depth) if type(value) is FunctionType and depth > 0 else _plain(value)


def _plain(value: Any) -> str:
    return without_address(value)[:_LONGEST]


def without_address(value: object) -> str:
    """What `repr` says of a value, without the place in memory, which is another each time."""
    return _ADDRESS.sub("", repr(value))
