"""The parts of a value: items by place, entries by key, attributes by name."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, Literal, NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, WeakSet, WeakValueDictionary

from nbckpt.reports.diff.drawings import facts_of, is_drawing
from nbckpt.reports.diff.value_texts import (
    attributes_of,
    is_member,
    is_scalar,
    told,
)
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.describe import type_name_of

NOT_A_NUMBER = "not a number"
KEY_DEPTH = 4
KEY_CHARACTERS = 40
KEY_PARTS = 200
_WEAK = (ReferenceType, WeakKeyDictionary, WeakValueDictionary, WeakSet)


class Step(NamedTuple):
    """One step on the way to a part: how it is written, and what is written there."""

    form: Literal[".%s", "[%s]", "{%s}", "%s"]
    of: Any

    def __str__(self) -> str:
        return self.form % (
            self.of if self.form in (".%s", "%s") else told(self.of, KEY_CHARACTERS)
        )


class Parts(NamedTuple):
    """Parts of a value.

    Attributes
    ----------
    named
        Value shared by equal keys, names or members of two values → path to the part, and the part.
    items
        Of a list and the like: its items in order.
    """

    named: dict[Hashable, tuple[Step, Any]]
    items: Sequence[Any] | None = None


def parts_of(value: Any) -> Parts | None:
    """Parts of `value`; None if it cannot be looked into."""
    if is_scalar(value) or isinstance(value, type | FunctionType | MethodType | ModuleType):
        return None
    if isinstance(value, _WEAK):  # it tells of addresses, and leads anywhere
        return None
    if is_drawing(value):
        return Parts(_named(facts_of(value)))
    own = _named(attributes_of(value))
    if isinstance(value, tuple) and (fields := getattr(type(value), "_fields", None)):
        return Parts(_named(dict(zip(map(str, fields), tuple.__iter__(value), strict=False))))
    if kind := _kind_of(value, list, tuple, deque):
        is_plain = type(value) in {list, tuple}
        return Parts(own, value if is_plain else list(kind.__iter__(value)))
    if isinstance(value, dict):
        return Parts(own | {_key(k): (Step("[%s]", k), v) for k, v in dict.items(value)})
    if kind := _kind_of(value, set, frozenset):
        return Parts(own | {_key(m): (Step("{%s}", m), m) for m in kind.__iter__(value)})
    if isinstance(value, BaseException):
        own |= _named({"args": value.args})
    if own or (hasattr(value, "__dict__") and _is_plain_object(type(value))):
        return Parts(own)
    return _reduced(value)


def _kind_of(value: object, *kinds: Any) -> Any:
    """The one of `kinds` that `value` is of, whose own methods are asked; or None."""
    return next((kind for kind in kinds if isinstance(value, kind)), None)


def _named(members: dict[str, Any]) -> dict[Hashable, tuple[Step, Any]]:
    return {(".", n): (Step(".%s", n), v) for n, v in members.items()}


def _is_plain_object(kind: type) -> bool:
    """True if all that an object holds is in its `__dict__`, as far as Python knows."""
    ways: list[Any] = [getattr(kind, n) for n in ("__reduce__", "__reduce_ex__")]
    is_usual = ways == [object.__reduce__, object.__reduce_ex__]
    return is_usual or kind.__module__ == "__main__"


def _key(key: Any) -> Hashable:
    """Value that equal keys of two dicts share: classes are not the same after two restores."""
    if type(key) is str:
        return key
    found, _ = keyed(key)
    return ("key", type_name_of(key), told(key, 200)) if found is None else found


def keyed(value: Any, depth: int = KEY_DEPTH) -> tuple[Hashable, int]:
    """Value that equal values share (None if unknown), and the number of parts looked at."""
    kind = type(value)
    if is_member(value):
        return ("member", type_name_of(value), told(value)), 1
    if is_scalar(value):
        try:
            hash(value)
            is_number = bool(value == value)  # or not-a-number
        except user_code_errors():  # no hash; or pandas' NA, which is neither true nor false
            return (kind, told(value)), 1
        return (kind, value if is_number else NOT_A_NUMBER), 1
    if depth == 0 or kind not in {list, tuple, dict} or len(value) > KEY_PARTS:
        return None, 1
    parts = [*value, *value.values()] if kind is dict else list(value)
    found = list(map(partial(keyed, depth=depth - 1), parts))
    keys = tuple(key for key, _ in found)
    cost = 1 + sum(cost for _, cost in found)
    return (None if None in keys else (kind, keys)), cost


def _reduced(value: Any) -> Parts | None:
    """Parts from which pickle would make a library's object; None if it refuses."""
    if type(value).__module__.startswith("numpy.random") and hasattr(value, "bit_generator"):
        return Parts(_named({"bit_generator.state": value.bit_generator.state}))
    if type(value).__module__ in ("builtins", "__main__"):
        return None
    try:
        made = value.__reduce_ex__(4)
    except user_code_errors():  # whatever keeps it from being told
        return None
    if not isinstance(made, tuple) or len(made) < 2:
        return None
    return Parts(
        {
            ("state", i): (Step("%s", f".__reduce__()[{i}]"), made[i])
            for i in (1, 2)
            if i < len(made)
        }
    )
