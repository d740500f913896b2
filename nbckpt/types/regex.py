"""The package regex: patterns and their matches."""

from __future__ import annotations

import importlib
from typing import Any

from nbckpt.types.adapter import RefusalError, TypeAdapter


def _reduce_regex(pattern: Any) -> Any:
    return make_regex, (pattern.pattern, pattern.flags, dict(pattern.named_lists))


def make_regex(pattern: Any, flags: int, lists: dict[str, Any]) -> Any:
    """A pattern of the module `regex`."""
    return importlib.import_module("regex").compile(pattern, flags, **lists)


def _reduce_regex_match(match: Any) -> Any:
    if match.string is not None and not match.partial:
        what = (match.re, match.string, match.pos, match.endpos)
        for how in ("search", "match", "fullmatch", "finditer"):
            again = make_regex_match(*what, how, match.start())
            if again is not None and again.allspans() == match.allspans():
                return make_regex_match, (*what, how, match.start())
    message = "it cannot be found again in its text"
    raise RefusalError(message)


def make_regex_match(pattern: Any, text: Any, first: int, last: int, how: str, start: int) -> Any:
    """The match that `how` finds; of several, the one that begins at `start`."""
    if how == "finditer":
        found = pattern.finditer(text, first, last)
        return next((match for match in found if match.start() == start), None)
    return getattr(pattern, how)(text, first, last)


ADAPTERS = (
    TypeAdapter(("_regex:Pattern",), reduce=_reduce_regex),
    TypeAdapter(("_regex:Match",), reduce=_reduce_regex_match),
)
