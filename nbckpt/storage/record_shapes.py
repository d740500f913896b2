"""Check that a record has the members that its readers rely on.

One's own records are signed, and are what they were made as, but who made them may have had a
defect; another's may say anything. What is not as it should be is damage, told where it stands, so
that nobody further in meets a text where a number belongs. Of one's own checkpoints only what
places them is looked at as a line is read; of the rest, what cannot be understood costs itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, TypeAlias

Test: TypeAlias = Callable[[Any], bool]

MOST_SECONDS = 1e11
MOST = 1 << 62


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < MOST


def _is_number(value: Any) -> bool:
    return type(value) in {int, float} and isfinite(value) and abs(value) < MOST_SECONDS


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _list(test: Test) -> Test:
    return lambda value: isinstance(value, list) and all(map(test, value))


def _map(test: Test) -> Test:
    return lambda value: isinstance(value, dict) and all(map(test, value.values()))


def _of(members: Mapping[str, Test], *required: str) -> Test:
    return lambda value: isinstance(value, dict) and _wrong_in(value, members, required) is None


def _wrong_in(value: Mapping[str, Any], members: Mapping[str, Test], required: Any) -> str | None:
    """The first member that is wrong or lacks."""
    for name in required:
        if name not in value:
            return str(name)
    for name, member in value.items():
        test = members.get(name)
        if test is not None and not test(member):
            return name
    return None


_texts = _list(_is_text)
_text_by_name = _map(_is_text)
_maybe = _or_none(_is_text)
_CELL = _of(
    {
        "source": _is_text,
        "execution_count": _or_none(_is_count),
        "cell_id": _maybe,
        "starred": _is_flag,
    },
    "source",
)
_VARIABLE_MEMBERS: dict[str, Test] = {
    **dict.fromkeys(("name", "blob", "value", "type_name", "preview"), _is_text),
    "size_bytes": _is_count,
    "shape": _maybe,
    "group": _texts,
    "needs": _texts,
    "recipe": _is_flag,
}
_VARIABLE = _of(_VARIABLE_MEMBERS, "name", "blob", "type_name", "size_bytes")
_KEY = _of(
    {
        "code": _is_text,
        **dict.fromkeys(("inputs", "functions", "files", "options"), _text_by_name),
        "shares": _texts,
    },
    "code",
)
_REFUSAL_MEMBERS = ("variable", "path", "type_name", "reason")
_REFUSAL = _of(dict.fromkeys(_REFUSAL_MEMBERS, _is_text), *_REFUSAL_MEMBERS)
_TEXTS = (
    *("id", "name", "branch", "session", "notebook", "state", "tag", "note", "function", "code"),
    *("arguments", "request", "provider", "endpoint", "model", "url", "price", "summary", "item"),
    *("question", "preview", "text", "user", "host", "through", "made_by", "value", "reason"),
    *("what", "after"),
)
_COUNTS = (
    *("occurrence", "attempts", "count", "nth", "shared", "status", "size_bytes", "failures"),
    *("rows", "columns", "format"),
)
_TOKENS = ("tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning")
_MEMBERS: dict[str, Test] = {
    **dict.fromkeys(_TEXTS, _is_text),
    **dict.fromkeys(_COUNTS, _is_count),
    **dict.fromkeys(_TOKENS, _or_none(_is_count)),
    **dict.fromkeys(("at", "created_at"), _is_number),
    **dict.fromkeys(("duration_s", "first_byte_s", "cost_usd"), _or_none(_is_number)),
    **dict.fromkeys(("parent", "checkpoint", "previous", "step", "position", "cell_id"), _maybe),
    **dict.fromkeys(("outputs", "error", "blob", "file", "file_digest"), _maybe),
    **dict.fromkeys(("removed", "bound", "in_place", "omitted", "outside", "seeded"), _texts),
    **dict.fromkeys(("finished", "tags", "pruned", "unrepeatable"), _texts),
    "cell": _CELL,
    "joined": _list(_CELL),
    "key": _KEY,
    "changed": _list(_VARIABLE),
    "carried": _list(_VARIABLE),
    "refused": _list(_REFUSAL),
    "passive": _map(lambda three: _texts(three) and len(three) == 3),
    **dict.fromkeys(("preconditions", "random_in", "lacking"), _text_by_name),
    "inherited": _map(_texts),
    "progress": _or_none(lambda three: isinstance(three, list) and len(three) == 3),
    "sizes": _list(_is_count),
    "headers": _list(lambda pair: _texts(pair) and len(pair) == 2),
    **dict.fromkeys(("usage", "observed", "standing"), _map(lambda _: True)),
    **dict.fromkeys(
        ("streamed", "exact", "used", "again", "delete", "overtaken", "look"), _is_flag
    ),
    "begun": _map(_is_count),
    "costs": _map(_or_none(_is_number)),
    "reads": _or_none(_map(_text_by_name)),
}
_OF_EVENTS: dict[str, Test] = {
    "event": _is_text,
    "at": _is_number,
    **dict.fromkeys(("checkpoint", "name", "session"), _maybe),
    **dict.fromkeys(("took_s", "saved_s", "duration_s"), _or_none(_is_number)),
    "size_bytes": _or_none(_is_count),
    "left_out": _or_none(_texts),
}
_REQUIRED: dict[str, tuple[str, ...]] = {
    "checkpoint": ("id", "session", "created_at", "duration_s", "cell"),
    "head": ("branch", "checkpoint", "at"),
    "drop": ("branch", "at"),
    "tag": ("checkpoint", "tag", "at"),
    "note": ("checkpoint", "note", "at"),
    "table": ("value", "file", "at"),
    "step": ("name", "code", "arguments", "occurrence", "state", "created_at"),
    "items": ("step", "function", "code", "blob", "count", "created_at"),
    "begun": ("checkpoint", "begun"),
    "value": (
        *("id", "step", "request", "occurrence", "state", "position", "session", "what", "value"),
        "created_at",
    ),
    "price": ("costs", "price", "at"),
    "approval": ("id", "at"),
    "recording": (
        *("id", "step", "session", "branch", "position", "occurrence", "request", "provider"),
        *("endpoint", "model", "url", "status", "headers", "blob", "sizes", "state", "streamed"),
        *("created_at", "duration_s"),
    ),
    "event": (),
    "prune": (),
    "batch": (),
    "writer": (),
    "session": (),
}
_NOT_NONE = {"head": ("checkpoint",), "tag": ("checkpoint",), "note": ("checkpoint",)}
"""Members that may be null elsewhere."""


def wrong_member(record: Mapping[str, Any]) -> str | None:
    """The first member of a record that is not what its readers expect; None if all are.

    Of kinds that are not known, nobody expects anything.
    """
    kind = record["kind"]
    if not isinstance(kind, str):
        return "kind"
    required = _REQUIRED.get(kind)
    if required is None:
        return None
    members = _OF_EVENTS if kind == "event" else _MEMBERS
    for name in _NOT_NONE.get(kind, ()):
        if record.get(name) is None:
            return name
    return _wrong_in(record, members, required)


def is_placed(record: Mapping[str, Any]) -> bool:
    """True if what places a checkpoint in the history is as its readers expect it."""
    return _wrong_in(record, _MEMBERS, ("id", "created_at", "duration_s", "session")) is None


_FITTING: tuple[Any, ...] = ("", 0.0, 0, [], {}, False, {"source": ""}, None)


def _fine(name: str, values: list[Any], test: Test) -> list[Any]:
    """Those of some items that can be understood; of a variable, where its bytes are."""
    if name in {"changed", "carried"}:
        values = [_variable(one) for one in values if isinstance(one, dict)]
    return [one for one in values if test([one])]


def _variable(members: dict[str, Any]) -> dict[str, Any]:
    fine = {n: v for n, v in members.items() if _VARIABLE_MEMBERS.get(n, _anything)(v)}
    return {"type_name": "", "size_bytes": 0, **fine}


def _anything(_: object) -> bool:
    return True


_ALL_OR_NOTHING = frozenset({"head", "drop", "tag", "note", "table", "approval"})
"""Kinds that say one thing alone."""


def can_be_mended(record: Mapping[str, Any]) -> bool:
    """True if a record says something without what cannot be understood of it.

    What names bytes does: a prune would delete these.
    """
    kind = record["kind"]
    if not isinstance(kind, str) or kind in _ALL_OR_NOTHING:
        return False
    return kind != "checkpoint" or _is_text(record.get("id"))


def mended(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what cannot be understood: an empty member in its place, or none."""
    for _ in range(len(record) + len(_REQUIRED.get(str(record.get("kind")), ())) + 1):
        name = wrong_member(record)
        if name is None or name == "kind":
            break
        members = _OF_EVENTS if record["kind"] == "event" else _MEMBERS
        test = members.get(name)
        value = record.pop(name, None)
        if test is None:
            continue
        if isinstance(value, list) and (fine := _fine(name, value, test)):
            record[name] = fine
        elif name in _REQUIRED[record["kind"]] or name in _NOT_NONE.get(record["kind"], ()):
            record[name] = next(fit for fit in _FITTING if test(fit))
    return record
