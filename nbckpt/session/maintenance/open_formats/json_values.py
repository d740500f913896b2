"""Plain data as JSON: exactly, or not at all."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from nbckpt.errors import CaptureError
from nbckpt.text.describe import type_name_of

MOST_VALUES = 10_000_000
"""A value that holds itself, or one list a thousand times, would never end."""
_ATOMS = (type(None), bool, int, float, str)
_ARRAYS = (list, tuple)
_OBJECTS = (dict, OrderedDict, defaultdict, Counter)


class Encoded(NamedTuple):
    """A value as JSON.

    Attributes
    ----------
    types
        Names of the types inside that JSON does not tell from its own.
    """

    data: bytes
    types: tuple[str, ...]


def is_plain(value: object) -> bool:
    """True if the value itself is of a type that JSON has, whatever it holds."""
    return type(value) in (*_ATOMS, *_ARRAYS, *_OBJECTS)


def encoded(value: object) -> Encoded:
    """A value as JSON, in UTF-8.

    Raises
    ------
    CaptureError
        If JSON does not hold it; the message says where inside it, and why.
    """
    types = tuple(sorted(_converted_types(value)))
    try:
        return Encoded(_text(value, is_ascii=False).encode(), types)
    except UnicodeEncodeError:  # half of a pair of surrogates, which an escape can say
        return Encoded(_text(value, is_ascii=True).encode(), types)


def _text(value: object, *, is_ascii: bool) -> str:
    try:
        return json.dumps(value, ensure_ascii=is_ascii, allow_nan=False, default=_item_of)
    except (ValueError, RecursionError) as error:
        message = f"JSON cannot hold it: {error}"
        raise CaptureError(message) from error


def _item_of(value: Any) -> object:
    return value.item()


class _Place(NamedTuple):
    """A value and the way to it, as a link to what holds it."""

    holder: _Place | None
    key: object
    value: Any

    def path(self) -> str:
        holders: list[object] = []
        place: _Place | None = self
        while place is not None and place.holder is not None:
            holders.append(place.key)
            place = place.holder
        return "".join(f"[{key!r}]" for key in reversed(holders)) or "it"


def _converted_types(value: object) -> set[str]:
    """Names of the types inside that JSON writes as its own; raises where it cannot."""
    found: set[str] = set()
    places = [_Place(None, None, value)]
    count = 0
    while places:
        place = places.pop()
        count += 1
        if count > MOST_VALUES:
            message = f"JSON of it would have more than {MOST_VALUES:,} values, or never end"
            raise CaptureError(message)
        kind = type(place.value)
        if kind in _ARRAYS or kind in _OBJECTS:
            places.extend(_inside(place))
        else:
            _require_atom(place)
        if kind not in (*_ATOMS, list, dict):
            found.add(type_name_of(place.value))
    return found


def _inside(place: _Place) -> Iterator[_Place]:
    if type(place.value) in _ARRAYS:
        yield from (_Place(place, n, one) for n, one in enumerate(place.value))
        return
    for key, one in dict.items(place.value):
        if type(key) is not str:
            message = f"a key of {place.path()} is a {type_name_of(key)}: in JSON keys are text"
            raise CaptureError(message)
        yield _Place(place, key, one)


def _require_atom(place: _Place) -> None:
    numpy: Any = sys.modules.get("numpy")
    value = place.value
    if numpy is not None and isinstance(value, numpy.generic):
        value = value.item()
    if type(value) not in _ATOMS:
        message = f"{place.path()} is a {type_name_of(place.value)}, which JSON does not have"
        raise CaptureError(message)
    if type(value) is float and not math.isfinite(value):
        message = f"{place.path()} is {value!r}, which JSON does not have"
        raise CaptureError(message)
