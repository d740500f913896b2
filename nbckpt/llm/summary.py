"""The beginning of what a request asks, for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONGEST = 200
_PLACES = ("messages", "input", "prompt", "contents", "content", "document", "text", "query")


def summary_of(members: Mapping[str, Any] | None) -> str:
    """Beginning of the last text in a request's body, in one line; empty if it has none."""
    for name in _PLACES if members else ():
        assert members is not None
        if text := _last_text(members.get(name)):
            return " ".join(text[: 4 * LONGEST].split())[:LONGEST]
    return ""


def _last_text(value: Any) -> str:
    """The last text in a body's member, however deep: a message, a part, a list of those."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return next((text for each in reversed(value) if (text := _last_text(each))), "")
    if isinstance(value, dict):
        return next(
            (t for name in ("content", "parts", "text") if (t := _last_text(value.get(name)))), ""
        )
    return ""
