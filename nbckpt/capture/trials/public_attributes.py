"""Public attributes of an object, asked for as far as that does no more than tell."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

from nbckpt.fingerprint.values.raw_members import member_of_class
from nbckpt.fingerprint.values.sure_types import package_of
from nbckpt.runtime.sandbox import StoppedError
from nbckpt.runtime.user_code_errors import user_code_errors

_DESCRIPTORS = (property, types.GetSetDescriptorType, types.MemberDescriptorType)

_OF_NO_MATTER = {
    ("pydantic", "BaseModel"): frozenset({"model_fields_set"}),
    # Made when it is asked for, and what rests on it.
    ("PIL", "Image"): frozenset({"palette", "pyaccess", "readonly", "has_transparency_data"}),
    ("matplotlib", "Figure"): frozenset({"number"}),  # pyplot's, which takes it over
    ("holoviews", "Dimensioned"): frozenset({"pipeline"}),  # a counter is in it
    # What keeps parts alive, and who lets them go.
    ("faiss", "Index"): frozenset({"referenced_objects", "own_fields", "own_invlists", "thisown"}),
}
"""Attributes that show only how an object was made: package and class → names."""


class MissingAttribute:
    """Stands for an attribute that raises."""


class AttributeValue(NamedTuple):
    """The value of an attribute, which may be None."""

    value: Any


def attribute_of(value: Any, name: str) -> AttributeValue | None:
    """The value of an attribute; None if there is none, or asking does more than tell."""
    try:
        found = member_of_class(type(value), name)
        if isinstance(found, types.MemberDescriptorType):  # a slot, past any `__getattr__`
            return AttributeValue(found.__get__(value))
        return AttributeValue(getattr(value, name))
    except user_code_errors(StoppedError):  # whatever a library raises
        return None


def is_cached(kind: type, name: str) -> bool:
    """True if an attribute is computed when it is first asked for, and kept from then on."""
    found = member_of_class(kind, name)
    if found is None or isinstance(found, (*_DESCRIPTORS, types.FunctionType)):
        return False
    return hasattr(type(found), "__get__") and not hasattr(type(found), "__set__")


def properties_of(kind: type) -> list[str]:
    """Public names that a class computes, or keeps in slots."""
    found: dict[str, object] = {}
    for cls in reversed(kind.__mro__):
        if cls is not object:
            found.update(vars(cls))
    return [n for n, v in found.items() if n[:1] != "_" and isinstance(v, _DESCRIPTORS)]


def of_no_matter(kind: type) -> frozenset[str]:
    """Names of attributes that show only how an object of this class was made."""
    found = [_OF_NO_MATTER.get((package_of(cls), cls.__name__)) for cls in kind.__mro__]
    return frozenset[str]().union(*filter(None, found))
