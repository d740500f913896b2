"""Dicts of attributes that somebody else holds, too: ``d = vars(obj)``, instances that share one.

Pickle writes the attributes of an instance as a dict and fills another one from it. Where nobody
else has the dict, nobody sees that. Else the instance is given that very dict, or is not kept.
"""

from __future__ import annotations

import copyreg
import gc
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from sys import getrefcount
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.bunches import set_members
from nbckpt.fingerprint.values.homes import is_made_module
from nbckpt.fingerprint.values.raw_members import member_of_class
from nbckpt.fingerprint.values.reducing import reduction_of
from nbckpt.types.adapter import RefusalError
from nbckpt.types.setters import set_state

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler, Reducer

Memo = Mapping[int, tuple[int, object]]

_CAN_GIVE = (GetSetDescriptorType, MemberDescriptorType)
_IN_TURN = (type, FunctionType)


def descriptor_of(kind: type) -> Any:
    """The descriptor that gives instances their `__dict__`; None if they have none of their own."""
    if not kind.__dictoffset__ or issubclass(kind, _IN_TURN):
        return None
    own = member_of_class(kind, "__dict__")
    return own if isinstance(own, _CAN_GIVE) else None


def watching(kind: type, usual: Reducer | None) -> Reducer | None:
    """The reducer for instances of `kind`, noting those whose dict others may hold as well."""
    descriptor = descriptor_of(kind)
    if descriptor is None:
        return usual
    is_module = issubclass(kind, ModuleType)
    get = _members_of_module if is_module else descriptor.__get__

    def reduce(pickler: NamespacePickler, obj: Any) -> Any:
        members = get(obj)
        identity = id(members)
        if not is_module:
            pickler.own_dicts.add(identity)
        if getrefcount(members) > _ALONE:
            pickler.dicts.setdefault(identity, set()).add(id(obj))
            if identity in pickler.linked and members is not obj:
                made = NotImplemented if usual is None else usual(pickler, obj)
                return _with_very_dict(obj, descriptor, members, made)
        return NotImplemented if usual is None else usual(pickler, obj)

    return reduce


def _members_of_module(module: ModuleType) -> dict[str, object]:
    """The dict of a module that is written by what it holds; of others, a new one."""
    return vars(module) if is_made_module(module) else {}


class _Plain:
    """One whose dict nobody else holds."""


_PLAIN = _Plain()
_ALONE = getrefcount(descriptor_of(_Plain).__get__(_PLAIN)) + 1
"""References to a dict that only its instance has, and a name."""


def held_twice(
    among: Mapping[int, Collection[int]], memo: Memo, values: Iterable[object]
) -> frozenset[int]:
    """Of some dicts of instances, those that two objects in the memo hold, or a variable is.

    Parameters
    ----------
    among
        Ids of the dicts → ids of the instances whose dict it is.
    """
    if not among:
        return frozenset()
    holders: Counter[int] = Counter(id(value) for value in values if id(value) in among)
    loose = min(memo.values(), key=lambda entry: entry[0])[1]  # what is pickled: of the memo's only
    fewest = getrefcount(loose)
    owners = frozenset().union(*among.values())
    for _, obj in memo.values():
        if obj is loose:
            continue
        held = {identity for part in _parts(obj) if (identity := id(part)) in among}
        # What a reducer made is in the memo alone.
        if held and (id(obj) in owners or getrefcount(obj) > fewest):
            holders.update(held)
    return frozenset(found for found, count in holders.items() if count > 1)


def _parts(obj: Any) -> Iterator[object]:
    """The objects that an object holds, also those that only a look inside its parts shows."""
    kind = type(obj)
    if kind is not FunctionType:
        yield from gc.get_referents(obj)
    if issubclass(kind, type):
        yield from list(vars(obj).values())
    elif kind is FunctionType:  # without its globals: those of a module made by hand it has again
        yield vars(obj)
        yield from vars(obj).values()
        yield from obj.__defaults__ or ()
        yield from (obj.__kwdefaults__ or {}).values()
        for cell in obj.__closure__ or ():
            yield from gc.get_referents(cell)
    elif hasattr(kind, "ravel") and getattr(getattr(obj, "dtype", None), "hasobject", False):
        yield from list(obj.ravel())


def _with_very_dict(obj: Any, descriptor: Any, members: object, made: Any) -> Any:
    kind = type(obj)
    if made is NotImplemented:
        tell = copyreg.dispatch_table.get(kind)
        made = reduction_of(obj, 5) if tell is None else tell(obj)
    make, arguments, state, items, pairs, put = (
        (*made, *(None,) * 6)[:6] if (isinstance(made, tuple)) else (None,) * 6
    )
    slots: Any = {}
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    is_all = state is members or (state is None and not members)
    is_simple = put is set_state or (
        put in (None, set_members) and not hasattr(kind, "__setstate__")
    )
    owner: Any = descriptor.__objclass__
    can_be_given = isinstance(descriptor, GetSetDescriptorType) and (
        owner.__flags__ & _HEAP or issubclass(owner, BaseException)
    )
    if make is None or not (is_all and is_simple and can_be_given and type(slots) is dict):
        message = "its attributes are a dict that is held elsewhere, too, and it makes its own"
        raise RefusalError(message)
    return make, arguments, (members, slots), items, pairs, give


_HEAP = 1 << 9
"""The flag of classes that code made; types of C may keep their dict for themselves."""


def give(obj: Any, state: tuple[dict[str, object], dict[str, object]]) -> None:
    """Let `obj` have the very dict as its attributes, and the values of its slots."""
    members, slots = state
    object.__setattr__(obj, "__dict__", members)
    for name, value in slots.items():
        object.__setattr__(obj, name, value)
