"""Differences between a request without a recording and recorded ones. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

LONGEST = 60
MOST = 3
_MISSING = object()
LONGEST_PATH = 100
_MADE_UP = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
"""Ids and times, which are others each time that somebody makes one up."""
_TRACING = re.compile(
    r"(.*[_-])?(trace|span|request|run|correlation|idempotency|nonce|time|timestamp|created|sent)"
    r"([_-]?(id|key|at|time|ms))?",
    re.IGNORECASE,
)
"""Names of members that say who asks and when; those of what is gone on with are none."""
_WORDED = frozenset(
    ["content", "documents", "input", "inputs", "instructions", "prompt", "query", "system", "text"]
)
"""Names under which the texts of a prompt stand: one that is another is another question."""


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


class Difference(NamedTuple):
    """A place in which two bodies differ.

    Attributes
    ----------
    path
        Names and numbers that lead to it: ``extra.trace_id``, ``messages.2.content``.
    was, now
        What stands there as JSON, shortened; ``nothing`` if nothing does.
    """

    path: str
    was: str
    now: str

    def __str__(self) -> str:
        path = self.path if len(self.path) <= LONGEST_PATH else f"…{self.path[-LONGEST_PATH:]}"
        return f"{path}: {self.was} → {self.now}"


def format_nearest(asked: Mapping[str, Any] | None, others: Iterable[Near]) -> str:
    """The nearest recordings and what differs, as part of a sentence."""
    compared = [(differences(asked, near.asked), near) for near in others]
    nearest = sorted(compared, key=lambda pair: len(pair[0]))[:MOST]
    if not nearest:
        return "nothing was recorded in this step"
    lines = [
        f"{near.id} differs in {_listed(found) or 'nothing but how often it was asked'}"
        for found, near in nearest
    ]
    return f"nearest: {', and '.join(lines)}"


def _listed(found: Iterable[Difference]) -> str:
    return "; ".join(map(str, [*found][:MOST]))


def differences(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> list[Difference]:
    """The places in which two bodies differ; `b` was recorded, `a` is asked now."""
    if a is None or b is None:
        return [] if a is b else [Difference("its body", "another", "this")]
    return [_difference(*leaf) for leaf in _leaves(a, b, "")]


def near_miss(
    asked: Mapping[str, Any] | None, recorded: Mapping[str, Any] | None
) -> list[Difference]:
    """The differences of two requests that put the same question; empty if they put two.

    The texts of a question may differ in ids and times, which are made up anew each time, and in
    the order of their lines or parts: what is asked at once ends in another order each time.
    """
    if asked is None or recorded is None:
        return []
    found = list(_leaves(asked, recorded, ""))
    if len(found) > MOST or any(_is_another_text(*leaf) for leaf in found):
        return []
    return [_difference(*leaf) for leaf in found]


def is_of_tracing(difference: Difference) -> bool:
    """True if what differs is an id or a time on both sides, under a name that tells no more."""
    name = difference.path.rpartition(".")[2]
    parents = difference.path.split(".")[:-1]
    is_named = any(_TRACING.fullmatch(part) for part in (name, *parents))
    return is_named and all(_MADE_UP.search(text) for text in (difference.was, difference.now))


def _is_another_text(path: str, now: object, was: object) -> bool:
    if _is_reordered(now, was):
        return False
    names = [name for name in path.split(".") if not name.isdecimal()]
    if _WORDED.isdisjoint(names):
        return not isinstance(now, str | int | float | bool | None) and now is not _MISSING
    if not (isinstance(now, str) and isinstance(was, str)):
        return True
    return _MADE_UP.sub("", now) != _MADE_UP.sub("", was)


def _leaves(a: Any, b: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Path, value in `a` and value in `b` of each place in which they differ."""
    if type(a) is type(b) and (a == b or (a != a and b != b)):  # not a number
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in sorted({*a, *b}):
            own = name if name and "." not in name else json.dumps(name)
            inner = f"{path}.{own}" if path else own
            yield from _leaves(a.get(name, _MISSING), b.get(name, _MISSING), inner)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        if _is_reordered(a, b):
            yield path, a, b
            return
        for n, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _leaves(one, other, f"{path}.{n}")
    else:
        yield path, a, b


def _is_reordered(a: object, b: object) -> bool:
    """True if two different texts have the same lines, or two different lists the same parts."""
    if isinstance(a, str) and isinstance(b, str):
        return a != b and sorted(a.splitlines()) == sorted(b.splitlines())
    if not (isinstance(a, list) and isinstance(b, list)):
        return False
    return a != b and len(a) == len(b) and _sorted_parts(a) == _sorted_parts(b)


def _sorted_parts(parts: list[Any]) -> list[str]:
    return sorted(json.dumps(part, sort_keys=True) for part in parts)


def _difference(path: str, now: object, was: object) -> Difference:
    if not _is_reordered(now, was):
        return Difference(path, _brief(was), _brief(now))
    parts = f"{len(was)} parts" if isinstance(was, list) else "its lines"
    return Difference(path, parts, "the same in another order")


def _brief(value: Any) -> str:
    if value is _MISSING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"
