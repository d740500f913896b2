"""Instances that are what their attributes are, where these are atoms: written in one go.

A list of a million objects of a class of the notebook is common, and to take each apart as pickle
does costs ten times as much. The bytes are those that `instances.take_apart` leads to.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from types import GetSetDescriptorType
from typing import TYPE_CHECKING, Any

from nbckpt.fingerprint.values import plain, traces_of_looks
from nbckpt.fingerprint.values.raw_members import bases_of, dict_of, member_of_class
from nbckpt.fingerprint.values.reducing import container_behind, refuses_without_need
from nbckpt.fingerprint.values.sure_types import WAYS, is_plain
from nbckpt.runtime.addresses import address_of

if TYPE_CHECKING:
    from nbckpt.fingerprint.values.walking import Walk

MOST_SHAPES = 1_000
"""Combinations of attributes' names whose bytes are remembered in one walk."""

_HEAP_TYPE = 1 << 9
"""Of `tp_flags`: a class that was not written in C, or lets itself be changed."""


_STR = {str}


class _Probe:
    """The layout of an instance that has attributes and nothing else."""


def put_attributes(walk: Walk, value: object) -> bool:
    """True if `value`, which was not met before, is its attributes, and these were written."""
    kind = type(value)
    head = walk.heads.get(kind)
    if head is None:
        head = _head_of(walk, kind)
    members: Any = dict_of(value) if head else None
    if not members or address_of(members) in walk.memo:
        return False
    values = [*members.values()]
    types = set(map(type, values))
    if not types <= plain.ATOMS:
        return False
    shape = tuple(members)
    if set(map(type, shape)) != _STR:  # texts of a class of the notebook may equal others
        return False
    keys = walk.shapes.get(shape) or _keys_of(walk, shape)
    if not keys:
        return False
    walk.found.budget -= 2
    walk.memo[address_of(members)] = len(walk.memo)
    walk.out += head
    walk.out += keys
    walk.out += plain.encoded_atoms(values, types)
    return True


def _head_of(walk: Walk, kind: type) -> bytes:
    """The bytes of an object before its attributes.

    None if its class was not met yet, or if more than the attributes may count.
    """
    if walk.allowance is not None or not is_its_attributes(kind):
        walk.heads[kind] = b""
        return b""
    home = walk.found.home(kind)
    if home is None and address_of(kind) not in walk.memo:
        return b""
    before = len(walk.out)
    walk.put(b"object")
    if home is None:
        walk.put(b"same", walk.memo[address_of(kind)])
    else:
        walk.put(b"named", home)
    head = walk.heads[kind] = bytes(walk.out[before:])
    del walk.out[before:]
    return head


def _keys_of(walk: Walk, shape: tuple[Any, ...]) -> bytes:
    """The bytes of a dict before its values; none if its keys are no usual names."""
    if not WAYS.isdisjoint(shape):
        return b""
    if len(walk.shapes) >= MOST_SHAPES:
        walk.shapes.clear()
    before = len(walk.out)
    walk.put(b"dict", len(shape))
    keys = walk.shapes[shape] = bytes(walk.out[before:]) + plain.encoded_atoms(shape, {str})
    del walk.out[before:]
    return keys


def dict_getter_of(kind: type) -> Callable[[Any], dict[str, Any]]:
    """A function that gives the dict of an instance of a class that `is_its_attributes`."""
    getter: Callable[[Any], dict[str, Any]] = member_of_class(kind, "__dict__").__get__
    return getter


def is_its_attributes(kind: type) -> bool:
    """True if pickle makes an instance of a class from its attributes, whatever these are."""
    return (
        type(kind) is type
        and kind.__basicsize__ == _Probe.__basicsize__
        and kind.__dictoffset__ == _Probe.__dictoffset__
        and all(cls is object or cls.__flags__ & _HEAP_TYPE for cls in bases_of(kind))
        and type(member_of_class(kind, "__dict__")) is GetSetDescriptorType
        and is_plain(kind)
        and not copyreg._slotnames(kind)  # type: ignore[attr-defined]  # noqa: SLF001
        and container_behind(kind) is None
        and not refuses_without_need(kind)
        and traces_of_looks.nothing_passes(kind)
    )
