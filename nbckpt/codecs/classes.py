"""Classes of the notebook, by value."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from cloudpickle import cloudpickle

from nbckpt.codecs import class_making, class_statements
from nbckpt.codecs.functions import default_reduction
from nbckpt.codecs.singletons import modules_of_libraries, named_in
from nbckpt.fingerprint.traits import OF_DESCRIPTORS, has_descriptors

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


def reduce_class(pickler: NamespacePickler, cls: type) -> Any:
    """A class by name if it can be imported, else by its members.

    Notes
    -----
    cloudpickle tells classes apart by a random id, and gives a class that is live under it new
    members when an old one is loaded. Without the id, a load makes a class of its own: going back
    never changes what another variable still uses.
    """
    made = _of_ctypes(cls) or _found_in_a_module(cls) or _parametrised(cls)
    if made := made or class_statements.reduced(pickler, cls):
        return made
    reduced = default_reduction(pickler, cls)
    if not isinstance(reduced, tuple) or not isinstance(reduced[1], tuple) or len(reduced[1]) < 6:
        return reduced
    make, arguments, *rest = reduced
    _order(rest[0][0], cls)
    if make is cloudpickle._make_skeleton_enum:  # noqa: SLF001
        return _reduce_enum(cls, arguments, rest)
    if make is not cloudpickle._make_skeleton_class:  # noqa: SLF001
        return reduced
    kind, name, bases, members, *_ = arguments
    name = sys.intern(name)  # as a cell that is run has it
    # The skeleton's would be the name.
    members = {**members, "__qualname__": sys.intern(cls.__qualname__)}
    # Put there by the first instance that is pickled; no part of the definition.
    rest[0][0].pop("__slotnames__", None)
    _add_repeated(rest[0][0], cls)
    _drop_fields_in_c(rest[0][0])
    if has_descriptors(cls):
        for member in OF_DESCRIPTORS:
            rest[0][0].pop(member, None)
    makes_its_own = issubclass(cls, tuple) and "__orig_bases__" in cls.__dict__  # NamedTuple
    if "__slots__" in cls.__dict__ and not makes_its_own:
        # Slots are made with the class or not at all; cloudpickle sets the attribute too late.
        members = {**members, "__slots__": cls.__dict__["__slots__"]}
    arguments = (kind, name, bases, members)
    return class_making.make_class, arguments, *rest[:-1], class_making.set_class


def _found_in_a_module(cls: Any) -> Any:
    """A class that is written in C or Rust, and says that it is Python's own, by where it is."""
    name = cls.__name__
    if cls.__module__ != "builtins" or vars(builtins).get(name) is cls:
        return None
    found = (place for place, members in modules_of_libraries() if members.get(name) is cls)
    place = next(found, None)
    return None if place is None else (named_in, (place, name))


def _parametrised(cls: Any) -> Any:
    """A generic model of pydantic with what its parameters stand for, ``Box[int]``.

    pydantic makes one class of these, and gives it to whoever asks.
    """
    made = vars(cls).get("__pydantic_generic_metadata__")
    if not isinstance(made, dict) or not made.get("origin") or not made.get("args"):
        return None
    origin, arguments = made["origin"], made["args"]
    asked = arguments[0] if len(arguments) == 1 else arguments
    return (operator.getitem, (origin, asked)) if origin[asked] is cls else None


def bases_first(values: Mapping[str, object]) -> list[str]:
    """The names of `values`, a class behind its metaclass and its bases.

    A class that a base of its holds would be made twice, were it written before that base; the
    other one would be among the subclasses until it is collected.
    """
    found = {n: v for n, v in values.items() if issubclass(type(v), type)}
    if not found:
        return list(values)
    order = sorted(found, key=lambda n: _depth(found[n]))
    return [*order, *(n for n in values if n not in found)]


def _depth(cls: Any) -> tuple[bool, int]:
    return not issubclass(cls, type), len(cls.__mro__)


def _add_repeated(members: dict[str, object], cls: type) -> None:
    """Add members that are those of a base, too: a base may get others, and `cls` keeps its own.

    cloudpickle takes them for inherited.
    """
    own = dict(vars(cls))
    inherited = {
        name: value for base in reversed(cls.__bases__) for name, value in vars(base).items()
    }
    for name, value in own.items():
        if (
            name not in members
            and name not in _OF_EVERY_CLASS
            and value is inherited.get(name, cls)
        ):
            members[name] = value
    _order(members, cls)


_OF_EVERY_CLASS = frozenset(
    {
        "__module__", "__qualname__", "__dict__", "__weakref__", "__doc__", "__slots__",
        "__slotnames__", "__abstractmethods__", "_abc_impl", "__firstlineno__",
        "__static_attributes__",
    }
)  # fmt: skip


def _order(members: dict[str, object], cls: type) -> None:
    """Put members into the order of the class, which cloudpickle sorts by name."""
    found = {name: members.pop(name) for name in vars(cls) if name in members}
    members.update(found)
    if "__doc__" in members:  # it stands first in a class that was restored
        members["__doc__"] = members.pop("__doc__")


def _reduce_enum(cls: Any, arguments: tuple[Any, ...], rest: list[Any]) -> Any:
    """An enum with its aliases, and with what its members were given when they were made."""
    bases, name, qualname, _, module, *_ = arguments
    values = {alias: member.value for alias, member in cls.__members__.items()}
    members = {
        member_name: {k: v for k, v in vars(member).items() if k not in _OF_EVERY_MEMBER}
        for member_name, member in cls._member_map_.items()
    }
    (own, slots), *_ = rest
    own = {k: v for k, v in own.items() if k not in values and k not in _COUNTED_BY_ENUM}
    state = ((own, slots), members)
    doc = vars(cls).get("__doc__")
    methods = [n for n, v in vars(cls).items() if n in own and _is_plain_method(cls, n, v)]
    made = (bases, name, qualname, values, module, doc, methods)
    return make_enum, made, state, None, None, set_enum


def _is_plain_method(cls: type, name: str, value: object) -> bool:
    """True if enum takes no note of a member of a class's body, but for its place."""
    if not isinstance(value, FunctionType | property | classmethod | staticmethod):
        return False
    if not name.startswith("_"):
        return True
    return (
        name in _NEVER_ASKED and getattr(value, "__qualname__", "") == f"{cls.__qualname__}.{name}"
    )


_NEVER_ASKED = frozenset(
    {
        "__init__",
        "__str__",
        "__repr__",
        "__format__",
        "__call__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
    }
)
"""Special methods that may stand for nothing while an enum is made."""


def make_enum(
    bases: tuple[Any, ...],
    name: str,
    qualname: str,
    values: dict[str, object],
    module: str,
    doc: object,
    methods: list[str],
) -> Any:
    """An enum of these members, with room for its methods, in the order of a class's body."""
    kind: Any = type(bases[-1])
    maker = class_making.maker_of(kind)
    body = maker.__prepare__(name, bases)
    body["__module__"] = module
    body["__qualname__"] = qualname
    if isinstance(doc, str):
        body["__doc__"] = doc
    for member, value in values.items():
        body[member] = value
    for method in methods:
        body[method] = _to_come
    with class_making.without_hooks(bases):
        return maker.__new__(kind, name, bases, body)


def _to_come(*_: object, **__: object) -> None:
    """Stands for a method until all that it refers to is there."""


def set_enum(cls: Any, state: tuple[Any, dict[str, dict[str, object]]]) -> None:
    """Give an enum its methods, and its members what their class's code once gave them."""
    own, members = state
    class_making.set_class(cls, own)
    for name, attributes in members.items():
        vars(cls._member_map_[name]).update(attributes)


_OF_EVERY_MEMBER = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_", "_inverted_"})

_COUNTED_BY_ENUM = frozenset(
    {"_unhashable_values_", "_hashable_values_", "_unhashable_values_map_"}
)


def _drop_fields_in_c(members: dict[str, object]) -> None:
    """Leave out what a `ctypes` structure makes itself of its ``_fields_``."""
    for name in [n for n, v in members.items() if type(v).__name__ == "CField"]:
        del members[name]


def _of_ctypes(cls: Any) -> Any:
    """The call that gives a class of `ctypes`' own, of arrays or a metaclass; else None."""
    ctypes = sys.modules.get("ctypes")
    if ctypes is None or not {cls.__module__, type(cls).__module__} & {"_ctypes"}:
        return None
    if type(cls) is type(ctypes.Array) and cls is not ctypes.Array:
        return operator.mul, (cls._type_, cls._length_)
    hidden = ("Structure", "Union", "Array", "_SimpleCData", "_Pointer")
    bases = [getattr(ctypes, name) for name in hidden]
    return next(((type, (base,)) for base in bases if type(base) is cls), None)
