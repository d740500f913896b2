"""Objects of loggers that no record can set: told by all that makes them act as they do."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from nbckpt.digests import Json
from nbckpt.observation.process_state.kinds import described, short_digest

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DEPTH = 3
_OF_LOGGERS = frozenset({*vars(logging.Logger("")), "manager"})
_FEWEST = len(vars(logging.Logger("")))
_MOVING = frozenset({"_closed", "rolloverAt"})
"""Members of handlers that change as they are used."""


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
        """What tells it in a record."""
        return self.told


def held_handler(handler: logging.Handler) -> Held:
    """A handler with its level, formatter and filters."""
    parts = (handler.level, handler.formatter, list(handler.filters))
    more = [told_of(part) for part in (handler.formatter, *handler.filters)]
    kind = [type(handler).__qualname__, *_code_of(type(handler))]
    settings = [  # no text of it: that names the stream which is the process's at the moment
        (name, value)
        for name, value in sorted(vars(handler).items())
        if type(value) in (str, int, bool) and name not in _MOVING
    ]
    told = short_digest([repr(settings), *kind, *more])
    return Held(handler, f"{type(handler).__qualname__} {told}", parts)


def told_of(value: object, depth: int = _DEPTH) -> str:
    """What tells a formatter, a filter, or something inside of one."""
    kind = type(value)
    if value is None or isinstance(value, FunctionType | type) or depth == 0:
        return described(value)
    inside: list[Json] = [kind.__module__, kind.__qualname__, *_code_of(kind)]
    is_known = kind.__module__ in ("__main__", "builtins", "logging")  # others change by themselves
    members = getattr(value, "__dict__", None) if is_known else {}
    if not members and is_known:
        inside.append(_text(value))
    for name, member in list((members or {}).items()):
        inside += [name, told_of(member, depth - 1)]
    return f"{kind.__qualname__} {short_digest(inside)}"


def set_on(logger: logging.Logger) -> tuple[tuple[str, Any], ...]:
    """What a notebook has set on a logger under names that loggers do not have."""
    members = vars(logger)
    if type(logger) is not logging.Logger or len(members) < _FEWEST:
        return ()
    own = [(n, v) for n, v in sorted(members.items()) if n not in _OF_LOGGERS and n[0] != "_"]
    return tuple((n, v if _is_plain(v) else Held(v, told_of(v))) for n, v in own)


def _is_plain(value: object) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _code_of(kind: type) -> list[str]:
    """The code of a class of the notebook."""
    own = [k for k in kind.__mro__ if k.__module__ == "__main__"]
    members = [(n, m) for k in own for n, m in vars(k).items() if type(m) is FunctionType]
    return [text for name, member in members for text in (name, described(member))]


def _text(value: object) -> str:
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:  # whatever its own code raises
        return type(value).__qualname__
