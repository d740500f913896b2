"""Objects of loggers that no record can set: told by all that makes them act as they do."""

from __future__ import annotations

import io
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from nbckpt.capture.observation.process_state.state_json import (
    OfVariable,
    described,
    short_digest,
    without_address,
)
from nbckpt.digests import Json
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.runtime.user_code_errors import user_code_errors

_DEPTH = 3
_OF_LOGGERS = frozenset({*vars(logging.Logger("")), "manager"})
FIELDS = len(_OF_LOGGERS)
"""The number of members of a logger on which nobody has set others."""

_MOVING = frozenset({"_closed", "rolloverAt", "lock", "filters"})
"""Members of handlers that change as they are used, or are told apart."""

_PARTS = frozenset({"formatter", "target", "buffer", "stream"})
"""Members that make a handler of the standard library act as it does, or hold what it got."""

_KNOWN = ("__main__", "builtins", "logging", "logging.handlers")
_MANY = 1_000


@dataclass(frozen=True, eq=False)
class Held:
    """An object as it was at one moment.

    Attributes
    ----------
    value
        The object itself, with which a move goes back.
    told
        What it was then; equal in every process.
    parts
        What a move puts back into it.
    """

    value: Any
    told: str
    parts: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.value is other.value and self.told == other.told

    def __hash__(self) -> int:
        return hash(self.told)

    def __repr__(self) -> str:
        """Text that stands for it in a record."""
        return self.told


class Teller:
    """Tells objects of loggers: what a variable holds by its name, others by what they are.

    Parameters
    ----------
    namespace
        The live variables.
    """

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._names: dict[int, str] | None = None

    def variable(self, value: object) -> str:
        """The variable that holds an object; empty if none does."""
        if self._names is None:
            self._names = {}
            for name, held in list(self._namespace.items()):
                if is_user_name(name) and type(held) not in ATOMS:
                    self._names.setdefault(id(held), name)
        return self._names.get(id(value), "")

    def held(self, value: object) -> Any:
        """Something that a logger holds, as an item of process state."""
        if name := self.variable(value):
            return OfVariable(name, value)
        return Held(value, self.told(value))

    def handler(self, handler: logging.Handler) -> Any:
        """A handler with its level, formatter and filters, as an item of process state."""
        if name := self.variable(handler):
            return OfVariable(name, handler)
        parts = (handler.level, handler.formatter, list(handler.filters))
        kind = type(handler)
        inside = [kind.__qualname__, *_code_of(kind)]
        members = vars(handler)
        is_own = kind.__module__ == "__main__"
        for name in sorted(members.keys() - _MOVING):
            value = members[name]
            if type(value) in {str, int, bool}:
                inside += [name, repr(value)]
            elif name in _PARTS or is_own or self.variable(value):
                inside += [name, self.told(value)]
        told = short_digest([*inside, *map(self.told, handler.filters)])
        return Held(handler, f"{kind.__qualname__} {told}", parts)

    def told(self, value: object, depth: int = _DEPTH) -> str:
        """Text that stands for a formatter, a filter, or something inside of one."""
        kind = type(value)
        if name := self.variable(value):
            return f"variable {name}"
        if value is None or isinstance(value, FunctionType | type) or depth == 0:
            return described(value)
        inside: list[Json] = [kind.__module__, kind.__qualname__, *_code_of(kind)]
        if kind in {io.StringIO, io.BytesIO}:
            inside.append(_content(value))
        elif kind in {list, tuple, deque} and len(value) <= _MANY:  # type: ignore[arg-type]
            inside += [self.told(v, depth - 1) for v in value]  # type: ignore[attr-defined]
        elif kind.__module__ in _KNOWN:  # others change by themselves
            members = getattr(value, "__dict__", None) or {}
            if not members:
                inside.append(_text(value))
            for name, member in list(members.items()):
                inside += [name, self.told(member, depth - 1)]
        return f"{kind.__qualname__} {short_digest(inside)}"

    def set_on(self, logger: logging.Logger) -> tuple[tuple[str, Any], ...]:
        """Attributes that a notebook has set on a logger under names that loggers do not have."""
        members = vars(logger)
        if members.keys() <= _OF_LOGGERS or type(logger).__module__ not in ("logging", "__main__"):
            return ()
        own = [(n, v) for n, v in sorted(members.items()) if n not in _OF_LOGGERS and n[0] != "_"]
        return tuple((n, v if _is_plain(v) else self.held(v)) for n, v in own)


def is_one(before: Any, now: Any, namespace: Mapping[str, object]) -> bool:
    """True if two items have the same objects, by other names, and are otherwise equal.

    Not if a name means another object now: a restore would not tell the two apart.
    """
    if isinstance(before, tuple) and isinstance(now, tuple):
        pairs = zip(before, now, strict=False)
        return len(before) == len(now) and all(is_one(b, n, namespace) for b, n in pairs)
    if isinstance(before, OfVariable) or isinstance(now, OfVariable):
        known = _object(before)
        names = (item.name for item in (before, now) if isinstance(item, OfVariable))
        is_known = all(namespace.get(name, known) is known for name in names)
        return known is not None and is_known and _object(now) is known
    return bool(before == now)


def _object(item: Any) -> Any:
    return item.value if isinstance(item, OfVariable | Held) else None


def _is_plain(value: object) -> bool:
    return value is None or type(value) in {bool, int, float, str}


def _code_of(kind: type) -> list[str]:
    """The code of a class of the notebook."""
    own = [k for k in kind.__mro__ if k.__module__ == "__main__"]
    members = [(n, m) for k in own for n, m in vars(k).items() if type(m) is FunctionType]
    return [text for name, member in members for text in (name, described(member))]


def _content(stream: Any) -> str:
    return "" if stream.closed else short_digest(repr(stream.getvalue()))


def _text(value: object) -> str:
    try:
        return without_address(value)
    except user_code_errors():  # whatever its own code raises
        return type(value).__qualname__
