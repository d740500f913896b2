"""Differences between a request without a recording and recorded ones. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

LONGEST = 60
MOST = 3
_MISSING = object()


class Near(NamedTuple):
    """A recording, as far as it can be compared.

    Attributes
    ----------
    asked
        The body of its request; None if that was not kept, or is no JSON object.
    """

    id: str
    occurrence: int
    asked: Mapping[str, Any] | None


def format_nearest(asked: Mapping[str, Any] | None, others: Iterable[Near]) -> str:
    """The nearest recordings and what differs, as part of a sentence."""
    compared = [(differences(asked, near.asked), near) for near in others]
    nearest = sorted(compared, key=lambda pair: len(pair[0]))[:MOST]
    if not nearest:
        return "nothing was recorded in this step"
    lines = [
        f"{near.id} differs in {'; '.join(found[:MOST]) or 'nothing but how often it was asked'}"
        for found, near in nearest
    ]
    return f"nearest: {', and '.join(lines)}"


def differences(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> list[str]:
    """A text for each member in which two bodies differ; recorded → asked now."""
    if a is None or b is None:
        return [] if a is b else ["its body"]
    return [
        f"{name}: {_brief(b.get(name, _MISSING))} → {_brief(a.get(name, _MISSING))}"
        for name in sorted({*a, *b})
        if a.get(name, _MISSING) != b.get(name, _MISSING)
    ]


def _brief(value: Any) -> str:
    if value is _MISSING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"
