"""A value and what came back of it, side by side: the first thing that is not the same.

Only what a user can see counts: texts, lengths, items, public attributes and properties, and which
of the objects that are reached by them are one. What begins with an underscore is the library's
own: caches, locks and counters differ, and mean nothing.
"""

from __future__ import annotations

import enum
import functools
import inspect
import time
import types
from collections import OrderedDict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from nbckpt.capture.trials.prints import print_of
from nbckpt.capture.trials.public_attributes import (
    MissingAttribute,
    attribute_of,
    is_cached,
    of_no_matter,
    properties_of,
)
from nbckpt.capture.trials.visible import are_alike, shortened, text_of
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import elements_of, members_of, pairs_of
from nbckpt.fingerprint.values.reducing import reduction_of
from nbckpt.fingerprint.values.sure_types import package_of
from nbckpt.runtime.sandbox import StoppedError
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.types.registry import OWN_CODECS

MOST_PAIRS = 5_000
MOST_ITEMS = 200
_CODE = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
    types.MethodWrapperType, types.WrapperDescriptorType, types.CodeType, functools.partial,
    enum.Enum,
)  # fmt: skip
_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, deque})
_PLAIN = ATOMS | _CONTAINERS


MOST_LEVELS = 1
"""Attributes of what a variable holds, and not of these: a counter there means nothing."""


class Difference(NamedTuple):
    """A difference between a live value and the one that came back.

    Attributes
    ----------
    path
        Where it is.
    text
        A clause that tells it.
    owner
        The live object whose attribute it is; None if it is not an attribute.
    lacking
        Names of the owner's plain members that did not come back, or came back as others.
    """

    path: str
    text: str
    owner: Any = None
    lacking: frozenset[str] = frozenset()


class _Pair(NamedTuple):
    path: str
    live: Any
    back: Any
    is_held: bool = True  # the live object is the same each time that it is asked for
    level: int = 0  # how many attributes lead here
    owners: tuple[Any, Any] | None = None  # whose attribute it is


class Comparison:
    """Compares values and what came back of them, all of which belong together.

    Parameters
    ----------
    until
        The moment by `time.monotonic` at which to stop looking.
    others
        Names of variables by the ids of their values, those that are compared included.
    compared
        Names of those that are compared.
    """

    def __init__(
        self,
        until: float,
        others: Mapping[int, Sequence[str]] = MappingProxyType({}),
        compared: Collection[str] = (),
    ) -> None:
        self._until = until
        self._others = others
        self._compared = compared
        self._twins: dict[int, tuple[str, Any, Any]] = {}
        self._back: dict[int, tuple[str, Any, Any]] = {}
        self._visited = 0

    def first_difference(self, name: str, live: Any, back: Any) -> Difference | None:
        """The first thing that is not the same; None if nothing is found."""
        waiting = deque([_Pair(name, live, back)])
        while waiting and self._visited < MOST_PAIRS and time.monotonic() < self._until:
            self._visited += 1
            pair = waiting.popleft()
            if pair.live is pair.back or isinstance(pair.live, _CODE):
                continue
            if (found := self._difference(pair)) and (told := _explained(found, pair)):
                return told
            if not self._is_known(pair) and not _is_over(pair):
                waiting.extend(self._inside(pair))
        return None

    def _difference(self, pair: _Pair) -> str:
        live, back = pair.live, pair.back
        if not _is_of_one_class(type(live), type(back)):
            if pair.level and _PLAIN.isdisjoint((type(live), type(back))):
                return ""  # of a library's own parts, one stands for another
            return f"{pair.path} comes back as {_of_kind(back)} instead of {_of_kind(live)}"
        if pair.is_held and _can_be_shared(live) and (found := self._parting(pair)):
            return found
        if _is_of_own_codec(type(live)):
            return ""
        if type(live) in _CONTAINERS and len(live) == len(back):
            return ""
        return _difference_of_texts(pair)

    def _parting(self, pair: _Pair) -> str:
        """Text on one object that comes back as two, or two as one; empty if there is none."""
        for name in self._others.get(id(pair.live), ()):
            if name not in self._compared:
                return f"{pair.path} is {name}, and comes back as another"
        twin = self._twins.get(id(pair.live))
        if twin is not None and twin[2] is not pair.back:
            return f"{pair.path} is {twin[0]}, and comes back as another"
        other = self._back.get(id(pair.back))
        if other is not None and other[1] is not pair.live:
            return f"{pair.path} is not {other[0]}, and comes back as that"
        return ""

    def _is_known(self, pair: _Pair) -> bool:
        """Take note of a pair; whether it has been looked at before."""
        if type(pair.live) in ATOMS or id(pair.live) in self._twins:
            return True
        self._twins[id(pair.live)] = pair[:3]
        if pair.is_held:
            self._back[id(pair.back)] = pair[:3]
        return False

    def _inside(self, pair: _Pair) -> Iterator[_Pair]:
        path, live, back, is_held, level, owners = pair
        if isinstance(live, list | tuple | deque):
            elements = zip(elements_of(live), elements_of(back), strict=False)
            for n, (one, other) in enumerate(islice(elements, MOST_ITEMS)):
                yield _Pair(f"{path}[{n}]", one, other, is_held, level, owners)
        elif isinstance(live, dict):
            items = zip(_pairs_in_order(live), _pairs_in_order(back), strict=False)
            for (key, one), (its_key, other) in islice(items, MOST_ITEMS):
                if type(key) in ATOMS and repr(key) != repr(its_key):
                    yield _Pair(f"a key of {path}", key, its_key, is_held, level, owners)
                where = f"{path}[{key!r}]" if type(key) in ATOMS else f"{path}[…]"
                yield _Pair(where, one, other, is_held, level, owners)
        if type(live).__module__ != "builtins" and level < MOST_LEVELS:
            yield from self._attributes(pair)

    def _attributes(self, pair: _Pair) -> Iterator[_Pair]:
        kind, level, owners = type(pair.live), pair.level + 1, (pair.live, pair.back)
        members = {**members_of(pair.back), **members_of(pair.live)}
        names = [name for name in members if type(name) is str and not name.startswith("_")]
        names += [n for n in properties_of(kind) if n not in members]
        names = [n for n in names if not is_cached(kind, n)]
        left_out = of_no_matter(kind)
        for name in [n for n in names if n not in left_out]:
            if time.monotonic() > self._until:
                return
            one = attribute_of(pair.live, name)
            if one is None or isinstance(one.value, _CODE) or inspect.isroutine(one.value):
                continue
            again = attribute_of(pair.live, name)
            path = f"{pair.path}.{name}"
            if again is None or not _is_steady(one.value, again.value):
                continue
            other = attribute_of(pair.back, name)
            if other is None:
                yield _Pair(
                    path, one.value, MissingAttribute(), is_held=False, level=level, owners=owners
                )
            else:
                yield _Pair(path, one.value, other.value, one.value is again.value, level, owners)


def _pairs_in_order(mapping: Any) -> list[tuple[Any, Any]]:
    """The items of a dict, in the order in which one of its class goes through them."""
    kind: Any = type(mapping)
    if kind.__iter__ is dict.__iter__ or issubclass(kind, OrderedDict):
        return pairs_of(mapping)
    try:
        return [(key, dict.__getitem__(mapping, key)) for key in islice(mapping, MOST_ITEMS)]
    except user_code_errors(StoppedError):  # whatever a library raises
        return pairs_of(mapping)


def _explained(text: str, pair: _Pair) -> Difference | None:
    if pair.owners is None:
        return Difference(pair.path, text)
    live, back = pair.owners
    if _is_its_word(type(live)) and not _is_lost(pair):
        return None
    members, came_back = members_of(live), members_of(back)
    lacking = {
        name
        for name, member in members.items()
        if type(name) is str and _is_plain(member)
        if name not in came_back
        or (not _has_code(type(live), "__setstate__") and _text(came_back[name]) != _text(member))
    }
    return Difference(pair.path, text, live, frozenset(lacking))


_NOT_THEIR_WORD = frozenset({"holoviews"})
"""Packages whose own state leaves out what users set."""


def _has_code(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), types.FunctionType)


def _is_its_word(kind: type) -> bool:
    """True if a class says itself what its objects are once they come back."""
    says = _has_code(kind, "__getstate__") or _has_code(kind, "__setstate__")
    return says and package_of(kind) not in _NOT_THEIR_WORD


def _is_lost(pair: _Pair) -> bool:
    """True if a plain member is left out by a class that puts nothing in its place."""
    return _is_plain(pair.live) and isinstance(pair.back, MissingAttribute)


def _is_plain(value: Any, depth: int = 3) -> bool:
    """True if a value holds nothing but atoms."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if depth < 0 or kind not in _PLAIN or len(value) > MOST_ITEMS:
        return False
    inside = [*value, *value.values()] if kind is dict else value
    return all(_is_plain(item, depth - 1) for item in inside)


def _is_steady(one: Any, again: Any) -> bool:
    if one is again:
        return True
    return type(one) is type(again) and _text(one) == _text(again)


def _text(value: Any) -> str | None:
    try:
        return text_of(value)
    except user_code_errors(StoppedError):  # whatever a library raises
        return None


def _difference_of_texts(pair: _Pair) -> str:
    ours, its = _text(pair.live), _text(pair.back)
    is_alike = its is not None and are_alike(ours or "", its)
    if ours is None or is_alike or ours != _text(pair.live):
        return ""
    if _is_of_c(type(pair.live)) and _say_the_same(pair.live, pair.back):
        return ""
    if its is None:
        return f"{pair.path} raises when it is looked at, once it came back"
    return f"{pair.path} is {shortened(ours, its)} and comes back as {shortened(its, ours)}"


def _is_of_c(kind: type) -> bool:
    """True if neither the text of an object nor its state is told by Python code.

    Such a text may be that of a debugger: pydantic's validators show how they do what their state
    says, in another way before their class was made than after it, and in any order.
    """
    return not any(_has_code(kind, n) for n in ("__repr__", *_TELL_STATE)) and any(
        n in vars(cls) for n in _TELL_STATE for cls in kind.__mro__ if cls is not object
    )


_TELL_STATE = ("__reduce__", "__reduce_ex__", "__getstate__")


def _say_the_same(live: Any, back: Any) -> bool:
    """True if two objects say the same of their state, all of it."""
    try:
        return print_of(reduction_of(live, 5)) == print_of(reduction_of(back, 5))
    except user_code_errors(StoppedError):  # whatever a library raises
        return False


def _is_of_one_class(one: type, other: type) -> bool:
    """Also where it is another object, as that of a class that was made again."""
    if one is other:
        return True
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _of_kind(value: Any) -> str:
    if isinstance(value, MissingAttribute):
        return "an error"
    return f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")


def _can_be_shared(value: Any) -> bool:
    """True if a change at one place shows at the other, where both hold the same object."""
    kind = type(value)
    if kind in ATOMS or issubclass(kind, tuple | frozenset | range | slice):
        return False
    if issubclass(kind, list | dict | set | deque):
        return True
    if any(type(n) is str and n[:1] != "_" for n in members_of(value)):
        return True
    return any(_is_settable(member) for cls in kind.__mro__ for member in vars(cls).values())


def _is_settable(member: object) -> bool:
    is_own = isinstance(member, types.MemberDescriptorType) and member.__name__[:1] != "_"
    return is_own or (isinstance(member, property) and member.fset is not None)


def _is_over(pair: _Pair) -> bool:
    """True if nothing inside of two objects is compared."""
    one, other = type(pair.live), type(pair.back)
    return not _is_of_one_class(one, other) or _is_of_own_codec(one)


def _is_of_own_codec(kind: type) -> bool:
    return any(package_of(cls) in OWN_CODECS for cls in kind.__mro__)
