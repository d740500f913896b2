"""The hashing of classes of the notebook while their objects are loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import get_ident
from types import FunctionType, TracebackType
from typing import Any

from nbckpt.fingerprint.values.raw_members import bases_of, member_of_class

_CODE_OF_KEYS = ("__hash__", "__eq__")
_NOTHING = object()


def has_own_hash(value: Any) -> bool:
    """True for a class whose objects hash by code of Python."""
    if not issubclass(type(value), type):
        return False
    found = member_of_class(value, "__hash__")
    return type(found) is FunctionType and found.__module__ != "enum"  # there from the beginning


def of_a_key(error: BaseException) -> type | None:
    """The class in whose code a key was hashed or compared when that raised; None elsewhere."""
    at: TracebackType | None = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_name in _CODE_OF_KEYS and code.co_varnames:
            return type(at.tb_frame.f_locals.get(code.co_varnames[0]))
        at = at.tb_next
    return None


class Hashing:
    """The ways objects of some classes hash while values are loaded, in the thread that loads.

    Attributes
    ----------
    kinds
        The classes.
    made
        All classes that were made meanwhile, which may hold containers.
    met
        Functions and classes of the notebook to which a stream refers.
    was_asked
        Whether one was hashed.

    Parameters
    ----------
    by_identity
        Whether they hash and compare by their identity, and not by their code.
    """

    def __init__(self, kinds: Iterable[type] = (), *, by_identity: bool = False) -> None:
        self.kinds: list[type] = []
        self.made: list[type] = []
        self.met: list[object] = []
        self.was_asked = False
        self._by_identity = by_identity
        self._thread = get_ident()
        self._before: list[dict[str, Any]] = []
        for kind in kinds:
            self.add(kind)

    def add(self, kind: type) -> None:
        """Have objects of one more class hash so, if they hash by code of Python."""
        if not has_own_hash(kind) or any(kind is one for one in self.kinds):
            return
        own = type.__getattribute__(kind, "__dict__")
        names = _CODE_OF_KEYS if self._by_identity else _CODE_OF_KEYS[:1]
        self.kinds.append(kind)
        self._before.append({name: own.get(name, _NOTHING) for name in names})
        usual, usually_equal = (member_of_class(kind, name) for name in _CODE_OF_KEYS)

        def told(value: Any) -> int:
            if get_ident() == self._thread:
                self.was_asked = True
                if self._by_identity:
                    return object.__hash__(value)
            return int(usual(value))

        def is_same(value: Any, other: Any) -> Any:
            here = get_ident() == self._thread
            return object.__eq__(value, other) if here else usually_equal(value, other)

        for name, function in zip(names, (told, is_same), strict=False):
            type.__setattr__(kind, name, function)

    def end(self) -> None:
        """Have all hash as their classes say."""
        for kind, members in zip(self.kinds, self._before, strict=True):
            for name, member in members.items():
                if member is _NOTHING:
                    type.__delattr__(kind, name)
                else:
                    type.__setattr__(kind, name, member)
        self._before = []

    def names(self) -> set[str]:
        """The names that stand in code of all that was met or made, attributes among them."""
        functions = [one for one in self.met if type(one) is FunctionType]
        for kind in (*self.met, *self.made):
            functions += _functions_of(kind) if issubclass(type(kind), type) else ()
        return {name for function in functions for name in function.__code__.co_names}

    def named(self, namespace: Mapping[str, object]) -> dict[str, object]:
        """The globals that code of the classes may name, with what it finds there, and so on."""
        found: dict[str, object] = {}
        functions = [one for kind in self.kinds for one in _functions_of(kind)]
        while functions:
            for name in functions.pop().__code__.co_names:
                if name not in namespace or name in found:
                    continue
                value = found[name] = namespace[name]
                if type(value) is FunctionType:
                    functions.append(value)
                elif issubclass(type(value), type):
                    functions += _functions_of(value)
        return found


def _functions_of(kind: Any) -> list[FunctionType]:
    members = (type.__getattribute__(base, "__dict__").values() for base in bases_of(kind))
    return [one for own in members for one in own if type(one) is FunctionType]
