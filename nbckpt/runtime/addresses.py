"""Addresses of objects, of which no audit hook is told.

CPython raises an audit event for each call of `id` (``builtins.id``), so that a hook in Python,
which we have, makes it take six times as long; a walk through a list asks it of each element.
"""

from __future__ import annotations

from collections.abc import Callable

address_of: Callable[[object], int] = object.__hash__
"""A number that an object alone has as long as it lives, as `id` gives another one.

By `object` alone, whatever its class says: it is made of the address (`_Py_HashPointer`).
"""
