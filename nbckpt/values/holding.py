"""The contents of containers and of the notebook's own instances; no code of theirs runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from itertools import islice
from types import MethodType, SimpleNamespace
from typing import Any

from nbckpt.values.homes import is_users_module
from nbckpt.values.plain import ATOMS


def parts_of(value: Any) -> Iterator[Collection[Any]]:
    """The direct contents of a container, data class or instance of the notebook's classes."""
    kind = type(value)
    if issubclass(kind, dict):
        yield dict.values(value)
    elif issubclass(kind, list):
        yield value if kind is list else [*list.__iter__(value)]
    elif issubclass(kind, tuple):
        yield value if kind is tuple else [*tuple.__iter__(value)]
    elif kind in (set, frozenset, deque):
        yield value
    elif kind is MethodType:
        yield (value.__self__,)
    if kind is SimpleNamespace or is_dataclass(kind) or is_users_module(kind.__module__):
        members = getattr(value, "__dict__", None)
        if type(members) is dict:
            yield members.values()


def inside_of(value: object, most: int) -> Iterator[object]:
    """A value and what lies in it at any depth; the first `most` of all that is no plain value."""
    seen: dict[int, object] = {}
    waiting = deque([value])
    while waiting and len(seen) < most:
        item = waiting.popleft()
        if id(item) in seen or type(item) in ATOMS:
            continue
        seen[id(item)] = item
        yield item
        for parts in parts_of(item):
            with suppress(RuntimeError):  # a thread has put something in meanwhile
                if not set(map(type, parts)) <= ATOMS:
                    waiting.extend(p for p in islice(parts, most) if type(p) not in ATOMS)
