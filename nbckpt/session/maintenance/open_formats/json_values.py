"""Plain data as JSON, with the types that JSON turns into others."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import json
import math
import pathlib
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from nbckpt.errors import CaptureError
from nbckpt.text.describe import type_name_of

MOST_VALUES = 10_000_000
"""One list that a value holds a thousand times, a thousand times over, would never end."""
_ATOMS = (type(None), bool, int, str)
_SETS = (set, frozenset)
_LISTS = (list, tuple, deque, range, *_SETS)
_OBJECTS = (dict, OrderedDict, defaultdict, Counter)
_TEXTS: dict[type, Callable[[Any], str]] = {
    dt.datetime: dt.datetime.isoformat,
    dt.date: dt.date.isoformat,
    dt.time: dt.time.isoformat,
    dt.timedelta: str,
    decimal.Decimal: str,
    fractions.Fraction: str,
    complex: str,
    uuid.UUID: str,
    pathlib.PurePosixPath: str,
    pathlib.PureWindowsPath: str,
    pathlib.PosixPath: str,
    pathlib.WindowsPath: str,
}
"""Types of values that become text: ISO 8601 for times, else the text that Python has for them."""


class Encoded(NamedTuple):
    """A value as JSON.

    Attributes
    ----------
    changes
        The types inside that JSON turns into others, as text; empty if it holds the value exactly.
    """

    data: bytes
    changes: str


def is_plain(value: object) -> bool:
    """True if the value itself is of a type that JSON can say, whatever it holds."""
    kinds = (*_ATOMS, float, *_LISTS, *_OBJECTS)
    return type(value) in kinds or type(value) in _TEXTS or _pandas_text(value) is not None


def encoded(value: object) -> Encoded:
    """A value as JSON, in UTF-8.

    Raises
    ------
    CaptureError
        If JSON does not hold it; the message says where inside it, and why.
    """
    conversion = _Conversion()
    try:
        plain = conversion.plain(value)
        data = json_bytes(plain)
    except _UnfitError as unfit:
        raise CaptureError(unfit.text()) from unfit
    except RecursionError as error:
        message = "JSON cannot hold it: it is nested too deeply"
        raise CaptureError(message) from error
    except ValueError as error:  # digits of a number that Python does not write
        message = f"JSON cannot hold it: {error}"
        raise CaptureError(message) from error
    return Encoded(data, conversion.changes())


def json_bytes(plain: object, *, indent: int | None = None, allow_nan: bool = False) -> bytes:
    """JSON of plain data, in UTF-8.

    Parameters
    ----------
    allow_nan
        False to raise a ValueError for numbers that JSON lacks.
    """
    try:
        text = json.dumps(plain, ensure_ascii=False, indent=indent, allow_nan=allow_nan)
        return text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates, which an escape can say
        return json.dumps(plain, indent=indent, allow_nan=allow_nan).encode()


class _UnfitError(Exception):
    """Something inside a value that JSON does not have, as the predicate of a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.keys: list[object] = []  # from it outwards

    def text(self) -> str:
        place = "".join(f"[{key!r}]" for key in reversed(self.keys)) or "it"
        return f"{place} {self}"


class _Conversion:
    """Values → what JSON has: text, numbers, lists and objects with text as keys."""

    def __init__(self) -> None:
        self._count = 0
        self._open: set[int] = set()
        self._changed: dict[str, set[str]] = {}

    def changes(self) -> str:
        """The types that became others: `set, tuple to list; NaN to text`."""
        told = sorted(self._changed.items())
        return "; ".join(f"{', '.join(sorted(names))} to {kind}" for kind, names in told)

    def plain(self, value: Any) -> Any:
        """A value of lists, objects, text, numbers and null alone."""
        self._count += 1
        if self._count > MOST_VALUES:
            message = f"is beyond the first {MOST_VALUES:,} values, and JSON of more is not written"
            raise _UnfitError(message)
        kind = type(value)
        if kind in _ATOMS:
            return value
        if kind is float:
            return value if math.isfinite(value) else self._of_infinite(value)
        if kind in _LISTS or kind in _OBJECTS:
            return self._of_container(value)
        return self._of_scalar(value)

    def _of_infinite(self, value: float) -> str:
        """Text for a number that JSON lacks, as the JSON of Protocol Buffers has it."""
        found = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return str(self._as(found, "text", found))

    def _of_container(self, value: Any) -> Any:
        if id(value) in self._open:
            message = "is the same object as one that holds it, which JSON cannot say"
            raise _UnfitError(message)
        self._open.add(id(value))
        found = self._object(value) if type(value) in _OBJECTS else self._list(value)
        self._open.discard(id(value))
        if type(value) in (dict, list):
            return found
        kind = "object" if type(value) in _OBJECTS else "list"
        return self._as(found, kind, type_name_of(value))

    def _list(self, value: Iterable[Any]) -> list[Any]:
        found = [self._at(n, one) for n, one in enumerate(value)]
        if type(value) not in _SETS:
            return found
        try:
            return sorted(found)
        except TypeError:
            return sorted(found, key=json.dumps)

    def _object(self, value: dict[Any, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, one in dict.items(value):
            text = key if type(key) is str else self._key(key)
            if text in found:
                message = f"has two keys that are {text!r} as text"
                raise _UnfitError(message)
            found[text] = self._at(key, one)
        return found

    def _key(self, key: Any) -> str:
        kind = type(key)
        plain = None if kind in _LISTS or kind in _OBJECTS else self._plain_or_none(key)
        if plain is None and key is not None:
            message = f"has a key of type {type_name_of(key)}: in JSON keys are text"
            raise _UnfitError(message)
        text = plain if isinstance(plain, str) else json.dumps(plain)
        return str(self._as(text, "text", f"keys of type {type_name_of(key)}"))

    def _plain_or_none(self, key: Any) -> Any:
        try:
            return self.plain(key)
        except _UnfitError:
            return None

    def _at(self, key: object, value: Any) -> Any:
        try:
            return self.plain(value)
        except _UnfitError as unfit:
            unfit.keys.append(key)
            raise

    def _of_scalar(self, value: Any) -> Any:
        if (text := _TEXTS.get(type(value))) is not None:
            return self._as(text(value), "text", type_name_of(value))
        if (found := _pandas_text(value)) is not None:
            return self._as(found or None, "text" if found else "null", type_name_of(value))
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None and type(value) is numpy.ndarray and not value.dtype.fields:
            return self._as(self.plain(_listed(value)), "list", type_name_of(value))
        if numpy is not None and isinstance(value, numpy.generic):
            item = str(value) if value.dtype.kind in "mM" else value.item()
            if not isinstance(item, numpy.generic | bytes | tuple):
                plain = self.plain(item)
                kind = {str: "text", bool: "boolean"}.get(type(plain), "number")
                return self._as(plain, kind, type_name_of(value))
        message = f"is of type {type_name_of(value)}, which JSON does not have"
        raise _UnfitError(message)

    def _as(self, found: Any, kind: str, name: str) -> Any:
        """The form of a value in JSON, with note of the type that it had."""
        self._changed.setdefault(kind, set()).add(name)
        return found


def _listed(array: Any) -> Any:
    return (array.astype(str) if array.dtype.kind in "mM" else array).tolist()


def _pandas_text(value: object) -> str | None:
    """The text of a time or duration of pandas, empty if it is missing; None if it is none."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None:
        return None
    if value is pandas.NaT or value is pandas.NA:
        return ""
    return str(value.isoformat()) if type(value) in (pandas.Timestamp, pandas.Timedelta) else None  # type: ignore[attr-defined]
