"""The user's functions and classes, as parts that a walk can digest."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import inspect
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from nbckpt.fingerprint.code.bytecode import digest_of_code, names_of_code, words_of
from nbckpt.fingerprint.traits import OF_DESCRIPTORS, has_descriptors
from nbckpt.fingerprint.values.caches import caches_in
from nbckpt.runtime.user_code_errors import user_code_errors

_FIXED = (int, float, complex, bool, str, bytes, type(None), type, FunctionType, ModuleType)

BOOKKEEPING = frozenset(
    {
        "__dict__",
        "__weakref__",
        "__module__",
        "__qualname__",
        "__slotnames__",  # pickle and copy note it in the class when they first meet an instance
        "__firstlineno__",
        "__static_attributes__",
        "__annotations__",  # told apart below: to ask for them can make them
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__abstractmethods__",
        "_abc_impl",
        "__pydantic_core_schema__",
        "__pydantic_serializer__",
        "__pydantic_validator__",
        "__pydantic_complete__",
        "__pydantic_parent_namespace__",
        "__pydantic_setattr_handlers__",
        "__pydantic_fields_complete__",
        "__signature__",
        "_value2member_map_",  # of an enum: grows when flags are combined
        "_unhashable_values_",
        "_unhashable_values_map_",
        "_hashable_values_",
    }
)
"""Members of classes that Python and libraries keep for themselves."""

DEEPEST_ANNOTATION = 10
"""Types inside types."""

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_IN_C = (MethodDescriptorType, WrapperDescriptorType, BuiltinFunctionType)


class Nothing:
    """Stands for a closure's variable that has no value yet."""


def parts_of_function(function: FunctionType, namespace: Mapping[str, object]) -> list[object]:
    """Everything a function's behaviour depends on but the values of the globals it reads."""
    parts: list[object] = [
        function.__name__,
        function.__qualname__,
        function.__doc__,
        digest_of_code(function.__code__),
        function.__defaults__,
        tuple(sorted((function.__kwdefaults__ or {}).items())),
        tuple(sorted(_annotations(function).items(), key=lambda item: item[0])),
        _closed_over(function),
        _attributes(function),
    ]
    return [*parts, *_carried_globals(function, namespace)]


def parts_of_class(cls: type) -> list[object]:
    """A class's name, bases and members, and the order of those that are public."""
    made = OF_DESCRIPTORS if has_descriptors(cls) else ()
    found = [
        n for n, v in vars(cls).items()
        if n not in BOOKKEEPING and n not in made and not _is_slot(v)
    ]  # fmt: skip
    # What a metaclass or a base adds stands in another order when a class comes back.
    order = tuple(n for n in found if not n.startswith("_")) if _is_as_written(cls) else ()
    members = [(name, _member(name, vars(cls)[name])) for name in sorted(found)]
    is_annotated = not {"__annotations__", "__annotate_func__"}.isdisjoint(vars(cls))
    annotations = tuple(_annotations(cls).items()) if is_annotated else ()
    registered = _registered(cls)
    return [cls.__qualname__, type(cls), cls.__bases__, annotations, order, registered, *members]


def _is_as_written(cls: type) -> bool:
    """True if nobody but its own body puts members into a class."""
    hooks = (base for base in cls.__mro__[1:-1] if "__init_subclass__" in vars(base))
    return type(cls) is type and next(hooks, None) is None


def _registered(cls: type) -> tuple[type, ...]:
    """The classes that an abstract class was told to be a base of, by their names."""
    if "_abc_impl" not in vars(cls):
        return ()
    references = _abc._get_dump(cls)[0]  # noqa: SLF001  # no public twin
    classes = [found for reference in references if (found := reference()) is not None]
    return tuple(sorted(classes, key=lambda one: (one.__module__, one.__qualname__)))


def _closed_over(function: FunctionType) -> tuple[object, ...]:
    """Values in a function's closure, without those that `functools.singledispatch` notes in it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    is_dispatch = function.__globals__.get("__name__") == "functools"
    noted = ("dispatch_cache", "cache_token") if is_dispatch else ()
    return tuple(content_of_cell(cell) for name, cell in cells if name not in noted)


def functions_of_class(cls: type) -> Iterator[FunctionType]:
    """The functions among a class's members, unwrapped."""
    for member in vars(cls).values():
        yield from _functions_of(member)


def _functions_of(member: object) -> Iterator[FunctionType]:
    if isinstance(member, FunctionType):
        yield member
    elif isinstance(member, staticmethod | classmethod):
        yield from _functions_of(member.__func__)
    elif isinstance(member, property):
        for accessor in (member.fget, member.fset, member.fdel):
            yield from _functions_of(accessor)
    elif isinstance(member, cached_property):
        yield from _functions_of(member.func)
    elif hasattr(member, "__wrapped__"):
        yield from _functions_of(inspect.unwrap(member))  # type: ignore[arg-type]


def _is_slot(member: object) -> bool:
    """True if `member` only gives access to a slot, which ``__slots__`` names."""
    is_slot = isinstance(member, GetSetDescriptorType | MemberDescriptorType)
    return is_slot or type(member).__name__ == "CField"  # of `ctypes`, made of ``_fields_``


def _member(name: str, value: object) -> object:
    if name in ("__doc__", "__text_signature__") and isinstance(value, str):
        return _ADDRESS.sub("0x", value)
    if isinstance(value, staticmethod | classmethod):
        return (type(value).__name__, value.__func__)
    if isinstance(value, property):
        return ("property", value.fget, value.fset, value.fdel)
    if isinstance(value, cached_property):
        return ("cached_property", value.func)
    if isinstance(value, _IN_C):
        return type(value).__name__
    return value


def _annotations(value: Any) -> dict[str, object]:
    try:
        return dict(getattr(value, "__annotations__", None) or {})
    except user_code_errors():  # evaluated when asked for, from Python 3.14 on
        return {}


def forward_names(definition: object) -> frozenset[str]:
    """The words in strings that stand as annotations of a function, or of a class and its methods.

    Whoever asks for the types looks them up.
    """
    functions = functions_of_class(definition) if isinstance(definition, type) else ()
    own = "__annotations__" in vars(definition) if isinstance(definition, type) else True
    owners = (*([definition] if own else []), *functions)
    values = (value for owner in owners for value in _annotations(owner).values())
    return frozenset(word for value in values for word in _forward(value, 0))


def _forward(annotation: Any, depth: int) -> Iterator[str]:
    if isinstance(annotation, str):
        yield from words_of(annotation)
    elif isinstance(annotation, typing.ForwardRef):
        yield from words_of(annotation.__forward_arg__)
    elif depth < DEEPEST_ANNOTATION:
        inside = getattr(annotation, "__args__", ())
        for part in inside if isinstance(inside, tuple) else ():
            yield from _forward(part, depth + 1)


def content_of_cell(cell: Any) -> object:
    """Value of a closure's variable; `Nothing` if it has none."""
    try:
        return cell.cell_contents
    except ValueError:
        return Nothing


def _attributes(function: FunctionType) -> dict[str, object]:
    return {k: v for k, v in vars(function).items() if k not in BOOKKEEPING}


def _carried_globals(
    function: FunctionType, namespace: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    """The globals that a function carries with it, because it lives in no module and not here."""
    own = function.__globals__
    if own is namespace or own.get("__name__") in sys.modules:
        return
    for name in sorted(names_of_code(function.__code__).loads & own.keys()):
        yield name, own[name]


def holds_state(definition: FunctionType | type) -> bool:
    """True if something in a definition may change while its parts stay the same objects."""
    if isinstance(definition, FunctionType):
        held = definition.__closure__, definition.__defaults__, definition.__kwdefaults__
        return any(held) or bool(vars(definition))
    return any(
        (not isinstance(member, _FIXED) and not _is_machinery(name, member))
        or any(caches_in(member))
        for name, member in vars(definition).items()
    )


def _is_machinery(name: str, member: object) -> bool:
    return (name.startswith("__") and name.endswith("__")) or hasattr(type(member), "__get__")


def texts_of(definition: object) -> list[str]:
    """The source of a function or of a class's methods, with the comments inside and above.

    Empty if it is gone.
    """
    functions = functions_of_class(definition) if isinstance(definition, type) else [definition]
    return [_text_of(function) for function in (definition, *functions)]


def _text_of(definition: Any) -> str:
    try:
        above = inspect.getcomments(definition) or ""
        return f"{above}\n{inspect.getsource(definition)}"
    except (OSError, TypeError, IndexError, SyntaxError, ValueError):
        return ""
