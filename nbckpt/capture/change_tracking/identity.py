"""Identity of the object that a name holds, so that no later object can be taken for it.

An address alone proves nothing: it is given to another object as soon as the first one is gone.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import NamedTuple

from nbckpt.capture.change_tracking.live_names import Addresses
from nbckpt.fingerprint.values.homes import DICT_OF_CLASS
from nbckpt.fingerprint.values.plain import ATOMS

_SLOTS = "__slotnames__"
"""The list that `copyreg` notes in a class when it first pickles an instance: no change of it."""


def identity_of(value: object) -> object:
    """A token that tells a value from all others: itself if it is an atom, else its `Identity`."""
    return value if type(value) in ATOMS else Identity(value)


class Identity:
    """Tells an object, and the parts of a definition, from all others, however long it lives.

    An object that can be referred to weakly is not kept alive by this. Others are: whoever
    remembers one forgets it before code runs that may drop it.
    """

    __slots__ = ("_is_weak", "_parts", "_reference")

    def __init__(self, value: object) -> None:
        parts = _parts_of(value)
        if issubclass(type(value), type):
            # What Python itself notes in a class (`__annotations__`) does nothing when it goes.
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = tuple(p for n, v in pairs for p in (n, v if _is_pythons(n) else _held(v)))
        self._parts = parts
        self._is_weak, self._reference = False, value
        if type(value) not in ATOMS:
            with suppress(TypeError):  # lists, dicts, tuples, what has slots
                self._reference, self._is_weak = weakref.ref(value), True

    @property
    def keeps_alive(self) -> bool:
        """True if a cell that drops the object would find it alive because of this."""
        is_held = not (self._is_weak or type(self._reference) in ATOMS)
        return is_held or any(type(part) is _Held for part in self._parts)

    @property
    def is_proven_by_address(self) -> bool:
        """True if an object at the same address is the same one: it is held, and has no parts."""
        return not self._is_weak and not self._parts

    def is_of(self, value: object) -> bool:
        """True if `value` is the object that this was made of, with the same parts."""
        known = self._reference
        if self._is_weak:
            known = known()  # type: ignore[operator]
            if known is None:
                return False
        if known is not value:
            return False
        if not self._parts:
            return True
        parts = _parts_of(value)
        return len(parts) == len(self._parts) and all(map(_is_held_by, self._parts, parts))


class Place:
    """Where an object stood before a cell ran; the cell may drop it.

    What cannot be referred to weakly is known by its address alone, so that another object may
    be taken for it: `may_be` errs on that side only.
    """

    __slots__ = ("_address", "_reference")

    def __init__(self, value: object) -> None:
        self._reference: weakref.ref[object] | None = None
        self._address = 0
        if type(value) in ATOMS:
            return
        try:
            self._reference = weakref.ref(value)
        except TypeError:
            self._address = id(value)

    def may_be(self, value: object) -> bool:
        """True if `value` may be the same object, changed where it stands."""
        if type(value) in ATOMS:
            return False  # nothing changes it: a name that has another value is bound anew
        if self._reference is not None:
            return self._reference() is value
        return self._address == id(value)


class Places(NamedTuple):
    """Where the objects of all names stood before a cell ran; none is held.

    Attributes
    ----------
    addresses
        Of all objects.
    weakly
        Name → place of those that can be referred to weakly.
    """

    addresses: Addresses
    weakly: Mapping[str, Place]

    def may_be(self, name: str, value: object) -> bool:
        """True if a name may hold the same object, changed where it stands."""
        if name in self.weakly:
            return self.weakly[name].may_be(value)
        return type(value) not in ATOMS and self.addresses.of(name) == id(value)


def is_fixed(value: object) -> bool:
    """True if nothing inside `value` can change that its `Identity` does not tell."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is ModuleType:  # what was imported is kept by its name, another one by its content
        return sys.modules.get(getattr(value, "__name__", "")) is value
    if kind is not FunctionType:
        return False
    is_bare = not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)  # type: ignore[attr-defined]
    return is_bare and not vars(value) and not value.__annotations__


def _parts_of(value: object) -> tuple[object, ...]:
    """The objects that make a definition what it is; a name may stay while they change."""
    kind = type(value)
    if kind is FunctionType:
        names = ("__code__", "__name__", "__qualname__", "__doc__", "__module__")
        return tuple(getattr(value, name) for name in names)
    if not issubclass(kind, type):
        return ()
    from nbckpt.codecs.references import is_by_reference

    if is_by_reference(value):
        return ()
    items = DICT_OF_CLASS(value).items()
    return tuple(part for item in items if item[0] != _SLOTS for part in item)


class _Weakly(weakref.ref[object]):
    """A part of a class that may go before the class does."""


class _Held(NamedTuple):
    """A part of a class that cannot be referred to weakly, and may hold what acts at its end."""

    part: object


def _held(part: object) -> object:
    """A member of a class as it is remembered: not held, if it may act at its end and can be so."""
    kind = type(part)
    if kind in ATOMS or issubclass(kind, (FunctionType, property, classmethod, staticmethod)):
        return part
    try:
        return _Weakly(part)
    except TypeError:
        from nbckpt.fingerprint.values.segments import is_plain  # when there is something to hold

        return part if is_plain(part) else _Held(part)


def _is_pythons(name: object) -> bool:
    return type(name) is str and name[:2] == name[-2:] == "__"


def _is_held_by(held: object, part: object) -> bool:
    if type(held) is _Weakly:
        return part is not None and held() is part
    return (held.part if type(held) is _Held else held) is part
