"""Classes of the notebook made again, without the code that ran when they were defined.

`__init_subclass__` of a base, and what a metaclass does of its own, may write to other objects: a
list of all subclasses, say. These come back with what was written to them, so the code runs once,
in the cell that defines the class. What it left in the class itself is among its members.
"""

from __future__ import annotations

import abc
import contextlib
import sys
import threading
import types
from collections.abc import Iterator
from types import BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

from nbckpt.codecs import functions
from nbckpt.codecs.loading import note_class, note_made
from nbckpt.fingerprint.traits import has_descriptors

_OF_METACLASSES = ("__new__", "__init__", "__prepare__", "__setattr__")
_IN_C = (BuiltinFunctionType, WrapperDescriptorType, MethodDescriptorType)
_HOLD_NOTHING = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, types.FunctionType, classmethod,
        staticmethod, property, types.MemberDescriptorType, types.GetSetDescriptorType,
    }
)  # fmt: skip
_HOOK = "__init_subclass__"
_MAKING = threading.RLock()


def make_class(kind: Any, name: str, bases: tuple[Any, ...], members: dict[str, object]) -> Any:
    """A class with few members yet, which `set_class` gives it once it is known."""
    members = {sys.intern(member): value for member, value in members.items()}
    resolved = types.resolve_bases(bases)
    maker = maker_of(kind)
    with without_hooks(resolved):
        if maker is kind:
            cls = types.new_class(name, bases, {"metaclass": kind}, lambda b: b.update(members))
        else:
            body = maker.__prepare__(name, resolved)
            body.update(members)
            if resolved is not bases:
                body["__orig_bases__"] = bases
            cls = maker.__new__(kind, name, resolved, body)
            maker.__init__(cls, name, resolved, body)
    note_made(cls)
    return cls


def set_class(cls: Any, state: tuple[dict[str, object], object]) -> None:
    """Give a class its members, and an abstract one the classes that were registered with it."""
    members, _ = state
    maker = maker_of(type(cls))
    for name, value in members.items():
        if name != "_abc_impl":
            maker.__setattr__(cls, name, value)
    if "__firstlineno__" in members:  # which `__module__` takes away
        maker.__setattr__(cls, "__firstlineno__", members["__firstlineno__"])
    if has_descriptors(cls):
        cls.setup_class(dict(vars(cls)))
    registered: Any = members.get("_abc_impl") or ()
    for other in registered:
        abc.ABCMeta.register(cls, other)
    own = [value for name, value in members.items() if name[:2] != "__"]
    note_class(cls, holds=any(type(value) not in _HOLD_NOTHING for value in own))


def maker_of(kind: Any) -> Any:
    """Whose code makes classes of the metaclass `kind`: its own, or that of a library above it."""
    return next(known for known in kind.__mro__ if _is_in_c(known) or not _is_users(known))


@contextlib.contextmanager
def without_hooks(bases: tuple[Any, ...]) -> Iterator[None]:
    """Pass over the `__init_subclass__` of the notebook's classes, for subclasses made here.

    Those of libraries are called as ever, and a class that another thread defines is told to all.
    """
    known = dict.fromkeys(cls for base in bases for cls in base.__mro__)
    hooked = [cls for cls in known if _HOOK in vars(cls) and _is_users(cls)]
    if not hooked:
        yield
        return
    with _MAKING:
        own = [(cls, vars(cls)[_HOOK]) for cls in hooked]
        try:
            for cls, hook in own:
                _put(cls, _passing(cls, hook, threading.get_ident()))
            yield
        finally:
            for cls, hook in own:
                _put(cls, hook)


def _passing(owner: Any, hook: Any, thread: int) -> Any:
    """The stand-in for a hook while a class is made in `thread`."""

    def pass_over(cls: type, /, **kwargs: object) -> None:
        if threading.get_ident() == thread:
            super(owner, cls).__init_subclass__(**kwargs)
        else:
            hook.__get__(None, cls)(**kwargs)

    return classmethod(pass_over)


def _put(cls: type, hook: object) -> None:
    maker_of(type(cls)).__setattr__(cls, _HOOK, hook)


def _is_users(cls: type) -> bool:
    return not functions.is_importable(cls)


def _is_in_c(kind: type) -> bool:
    """True if C code makes classes of `kind`, which may have no name to be imported by."""
    return any(isinstance(vars(kind).get(name), _IN_C) for name in _OF_METACLASSES)
