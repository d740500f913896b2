"""Values as short texts, and whether two are equal, without running code of the user's.

A `__repr__` or `__eq__` of theirs may be slow, wrong, raise, or answer with an array.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any
from weakref import ReferenceType

from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.reports.diff.drawings import is_drawing, told_drawing
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.describe import preview_of, shape_of, type_name_of
from nbckpt.types.registry import adapter_for

ELLIPSIS = "…"
ATTRIBUTES = 4
MEMBERS = "__dict__"
TEXT = 500
"""Characters of a text that are looked at to tell of it."""

_SCALARS_OF_PANDAS = frozenset(
    {"Timestamp", "Timedelta", "Period", "Interval", "NAType", "NaTType"}
)
_CONTROLS = {i: f"\\x{i:02x}" for i in (*range(9), *range(10, 32), 127)}
_BUILTINS = frozenset({"builtins", "types", "_thread"})
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)


def cut(text: str, characters: int) -> str:
    """`text` if it has no more than so many characters, else its beginning and an ellipsis.

    Examples
    --------
    >>> cut("embedding", 5), cut("embed", 5)
    ('embe…', 'embed')
    """
    return text if len(text) <= characters else text[: characters - 1] + ELLIPSIS


def told(value: Any, characters: int = 80, *, depth: int = 1) -> str:
    """One line of what `value` looks like."""
    try:
        return cut(" ".join(_told(value, depth).split()), characters)
    except user_code_errors():  # what a value that tells of itself may raise
        return cut(type_name_of(value), characters)


def told_apart(before: Any, after: Any, characters: int = 80) -> tuple[str, str]:
    """Both as short texts that differ if the two do: long texts from shortly before that on.

    Examples
    --------
    >>> told_apart("a" * 100 + "b", "a" * 100 + "c", 24)
    ("…'aaaaaaaaab'", "…'aaaaaaaaac'")
    """
    if type(before) is str and type(after) is str and before[:characters] == after[:characters]:
        start = max(0, _first_difference(before, after) - characters // 3 - 1)
        if start:
            room = characters - 1
            return (
                ELLIPSIS + told(before[start : start + TEXT], room),
                ELLIPSIS + told(after[start : start + TEXT], room),
            )
    texts = told(before, characters), told(after, characters)
    if texts[0] == texts[1] and type_name_of(before) != type_name_of(after):
        return f"{texts[0]} ({type_name_of(before)})", f"{texts[1]} ({type_name_of(after)})"
    return texts


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(one), len(other)))


def _told(value: Any, depth: int) -> str:
    kind = type(value)
    if kind in {str, bytes} and len(value) > TEXT:
        return repr(value[:TEXT]) + ELLIPSIS
    if kind in ATOMS:
        return preview_of(value) if kind is int and value.bit_length() > 300 else repr(value)
    if is_member(value):
        return f"{kind.__qualname__}.{object.__getattribute__(value, '_name_')}"
    if is_scalar(value):
        return _told_scalar(value)
    if isinstance(value, type) or kind.__module__ in _BUILTINS or isinstance(value, _CONTAINERS):
        return _told_container(value)
    if is_drawing(value):
        return told_drawing(value)
    if (shape := shape_of(value)) is not None:
        return f"{type_name_of(value)} {shape}: {preview_of(value)}"
    if (adapter := adapter_for(kind)) and adapter.describe:
        return f"{type_name_of(value)} {preview_of(value)}"
    members = attributes_of(value)
    if not members or depth == 0:
        return type_name_of(value)
    shown = [f"{n}={told(v, 30, depth=0)}" for n, v in list(members.items())[:ATTRIBUTES]]
    more = [ELLIPSIS] * (len(members) > ATTRIBUTES)
    return f"{type_name_of(value)}({', '.join(shown + more)})"


def printable(text: str) -> str:
    r"""`text` with what would steer a terminal, or cannot be encoded, written out.

    Examples
    --------
    >>> printable("a\x1b[31mb\udcff")
    'a\\x1b[31mb\\udcff'
    """
    return text.translate(_CONTROLS).encode("utf-8", "backslashreplace").decode()


def _told_container(value: Any) -> str:
    if type(value) is tuple and 0 < len(value) <= ATTRIBUTES:
        return f"({', '.join(told(v, 30, depth=0) for v in value)}{',' * (len(value) == 1)})"
    text = preview_of(value)
    name = type_name_of(value)
    return f"{name} of {len(value)}" if text == name and isinstance(value, _CONTAINERS) else text


def _told_scalar(value: Any) -> str:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        item = value.item()
        return (
            str(value)
            if isinstance(item, numpy.generic) or value.dtype.kind in "mM"
            else told(item)
        )
    return str(value) if _top(type(value)) == "pandas" else repr(value)


def is_member(value: object) -> bool:
    """True if `value` is a member of an enum."""
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(value, enum.Enum)


def is_scalar(value: object) -> bool:
    """True if `value` is one thing of the standard library, NumPy or pandas, not made of others."""
    kind = type(value)
    if kind in ATOMS or is_member(value):
        return True
    if issubclass(kind, ReferenceType):
        return False
    top = _top(kind)
    if top == "pandas":
        return kind.__name__ in _SCALARS_OF_PANDAS
    if top == "numpy":
        return isinstance(value, sys.modules["numpy"].generic)
    if top not in sys.stdlib_module_names or top == "__main__" or isinstance(value, _CONTAINERS):
        return False
    return kind.__eq__ is not object.__eq__ and not hasattr(value, MEMBERS)


def _top(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def is_equal(before: Any, after: Any) -> bool:
    """True if two scalars are of one type and equal; not-a-number equals itself."""
    if type_name_of(before) != type_name_of(after):
        return False
    try:
        if is_member(before):
            values = _value_of(before), _value_of(after)
            return told(before) == told(after) and told(values[0]) == told(values[1])
        if bool(before == after):
            return True
        return bool(before != before and after != after)  # not-a-number
    except user_code_errors():  # such as of times with and without a zone, or of pandas' NA
        return told(before) == told(after)


def _value_of(member: Any) -> Any:
    return object.__getattribute__(member, "_value_")


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes that an object has of its own, in `__dict__`, slots or pydantic's extras."""
    try:
        own = object.__getattribute__(value, MEMBERS)
    except AttributeError:
        own = {}
    found = {str(k): v for k, v in own.items()} if isinstance(own, dict) else {}
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in (MEMBERS, "__weakref__", "__pydantic_fields_set__", "__pydantic_private__"):
                continue
            try:
                found[name] = object.__getattribute__(value, _mangled(base, name))
            except AttributeError:
                continue
    extra = found.pop("__pydantic_extra__", None)
    return found | extra if isinstance(extra, dict) else found


def _mangled(owner: type, name: str) -> str:
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{owner.__name__.lstrip('_')}{name}" if is_private else name
