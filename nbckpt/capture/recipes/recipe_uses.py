"""Values that one statement made, and that others may have changed since.

The statement alone makes an unused value again. Items that a queue, a parser or a thread's storage
took in afterwards cannot be read from it, and a new one would be empty.
"""

from __future__ import annotations

import concurrent.futures
import io
import sqlite3
import threading
import types
from collections.abc import Mapping
from typing import Protocol

from nbckpt.fingerprint.values.bare_types import is_bare, is_client

_TOLD = (
    io.IOBase,
    types.GeneratorType,
    types.CoroutineType,
    sqlite3.Connection,
    concurrent.futures.Executor,
    type(threading.RLock()),
)
"""Kinds of which it is known what use does to them: it is done again, or does not matter."""


class Uses(Protocol):
    """Knows which statements read which names."""

    def is_named_since(self, name: str, serial: int) -> bool:
        """True if a statement that came later has read a name."""
        ...


def lost_by_use(
    name: str, value: object, since: int, uses: Uses, namespace: Mapping[str, object]
) -> str | None:
    """Why the statement that made `value` may not make it as it is now; None if it does.

    Parameters
    ----------
    since
        Serial of the statement.
    """
    kind = type(value)
    if isinstance(value, _TOLD) or is_client(kind) or is_bare(kind):
        return None
    if kind.__name__ == "DuckDBPyConnection":  # whoever asks has looked where its tables are
        return None
    if uses.is_named_since(name, since) or _is_named_in_functions(name, namespace):
        return "and what was done with it since would be lost"
    return None


def _is_named_in_functions(name: str, namespace: Mapping[str, object]) -> bool:
    """True if a function or method of the notebook's reads a variable."""
    found = list(namespace.values())
    found += [m for value in found if isinstance(value, type) for m in vars(value).values()]
    functions = [getattr(member, "__func__", member) for member in found]
    return any(
        isinstance(f, types.FunctionType)
        and f.__globals__ is namespace
        and _names_in(f.__code__, name)
        for f in functions
    )


def _names_in(code: types.CodeType, name: str) -> bool:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return name in code.co_names or any(_names_in(c, name) for c in inner)
