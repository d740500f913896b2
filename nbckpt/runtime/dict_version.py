"""Words of a dict's own memory: its version, which no two of its states share, and its length.

Up to 3.13 CPython has such a version, as PEP 509 [1]_ has it; where is found by trying.

References
----------
.. [1] Stinner, "Add a private version to dict", PEP 509, 2016.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from types import ModuleType
from typing import Any

WORD = 8
"""Bytes of a version."""

_OFFSETS = range(2 * WORD, 8 * WORD, WORD)


def version_of(entries: dict[str, Any]) -> int | None:
    """The version of a dict: while it is the same, no entry changed; None where there is none."""
    offset = offset_of_version()
    return None if offset is None else _word(entries, offset)


def _word(table: dict[str, Any], offset: int) -> int:
    return ctypes.c_uint64.from_address(id(table) + offset).value


def _is_readable() -> bool:
    # What an `id` is, and that a word lies behind it, is CPython's on 64 bits alone.
    return sys.implementation.name == "cpython" and sys.maxsize > 2**32


@cache
def offset_of_version() -> int | None:
    """Where the version of a dict stands, found by trying; None if there is none."""
    return next(filter(_is_version, _OFFSETS), None) if _is_readable() else None


def _is_version(offset: int) -> bool:
    module = ModuleType("tried")
    module.first = module.second = 0  # type: ignore[attr-defined]
    table, seen = vars(module), []
    for change in (
        lambda: setattr(module, "first", 1),
        lambda: setattr(module, "third", 2),
        lambda: table.pop("second"),
        lambda: table.update(first=3),
        lambda: delattr(module, "third"),
        lambda: setattr(module, "first", 4),
    ):
        before = _word(table, offset)
        table.get("first"), len(table)
        if _word(table, offset) != before:
            return False
        change()
        seen.append(before)
        if _word(table, offset) in seen:
            return False
    return True


@cache
def offset_of_length() -> int | None:
    """Where the number of entries of a dict stands."""
    if not _is_readable():
        return None
    tables: list[dict[str, object]] = [dict.fromkeys(map(str, range(n))) for n in (0, 3, 77, 1001)]
    return next((o for o in _OFFSETS if all(_word(t, o) == len(t) for t in tables)), None)
