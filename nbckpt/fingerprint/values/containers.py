"""Walks through containers: lists, tuples, dicts, sets and buffers of bytes."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from operator import itemgetter
from pickle import PickleBuffer
from types import MappingProxyType
from typing import Any

from nbckpt.digests import Digest
from nbckpt.fingerprint.values import plain
from nbckpt.fingerprint.values.segments import instances_in, segments_of
from nbckpt.fingerprint.values.walking import Step, Walk
from nbckpt.runtime.addresses import address_of
from nbckpt.runtime.dirty_pages.memory import digest_of_memory

MANY = 16
"""From so many elements on it is worth asking whether a container is a tree of plain data."""

ALLOWANCE = 64
"""Objects inside of an element that its place in a set is decided by."""


def walk_list(walk: Walk, value: list[Any]) -> None:
    """A list, which others may share."""
    if not walk.is_known(value):
        walk.put(b"list", len(value))
        _elements(walk, value)


def walk_tuple(walk: Walk, value: tuple[Any, ...]) -> None:
    """A tuple; which equal ones are the same does not count."""
    walk.put(b"tuple", len(value))
    _elements(walk, value)


def _elements(walk: Walk, elements: list[Any] | tuple[Any, ...]) -> None:
    """Elements in order, in bulk when they are plain."""
    if walk.is_too_wide(len(elements)) or _wrote_segments(walk, elements):
        return
    types = set(map(type, elements))
    if types <= plain.ATOMS:
        walk.out += plain.encoded_atoms(elements, types)
    elif len(elements) < MANY or not _wrote_tree(walk, elements):
        walk.push(elements)


def walk_dict(walk: Walk, value: dict[Any, Any]) -> None:
    """A dict, in its order."""
    if value is walk.found.namespace or value is sys.modules:
        walk.found.note_lookup(value)
        walk.put(b"lookup", "modules" if value is sys.modules else "globals")
        return
    if walk.is_known(value):
        return
    walk.put(b"dict", len(value))
    if walk.is_too_wide(len(value)) or _wrote_segments(walk, value):
        return
    keys, values = list(value), list(value.values())
    key_types = set(map(type, keys))
    if not key_types <= plain.ATOMS:
        walk.push([part for pair in zip(keys, values, strict=True) for part in pair])
        return
    value_types = set(map(type, values))
    is_flat = value_types <= plain.ATOMS
    if not is_flat and len(values) >= MANY and _wrote_tree(walk, value):
        return
    walk.out += plain.encoded_atoms(keys, key_types)
    if is_flat:
        walk.out += plain.encoded_atoms(values, value_types)
    else:
        walk.push(values)


def _wrote_segments(walk: Walk, value: Any) -> bool:
    """True if `value` is one of the large lists and dicts that consist of segments."""
    if walk.allowance is not None:  # however much there is inside
        return False
    is_alone = _is_alone(walk, value)
    segments = segments_of(value, is_variable=is_alone)
    if segments is None:
        return False
    kind = segments.kind
    inner = [] if is_alone and kind is None else segments.containers()
    if kind is not None:
        inner = [*instances_in(value), *inner]
    if is_alone and kind is not None:  # which is still to come, and may lead to instances of it
        walk.note_many(inner)
    elif not is_alone and not _noted(walk, inner):
        return False
    walk.put(b"segments")
    walk.out += segments.digest()
    if kind is not None:
        walk.push([kind])
    return True


def _wrote_tree(walk: Walk, value: object) -> bool:
    """True if `value` is plain data all through, and so was written at once."""
    if walk.allowance is not None:
        return False
    containers = plain.tree_of(value)
    if containers is None:
        return False
    data = plain.encoded_tree(value)
    if data is None:
        return False
    inner = [c for c in containers if c is not value]
    if not _is_alone(walk, value) and not _noted(walk, inner):
        return False
    walk.put(b"tree")
    walk.out += data
    return True


def _is_alone(walk: Walk, value: object) -> bool:
    """True if nothing was before it, and nothing is to come: nobody will ask what it holds."""
    if walk.stack or walk.around or walk.n_met > 1:
        return False
    return walk.memo.keys() <= {address_of(value)}


def _noted(walk: Walk, inner: list[object]) -> bool:
    """Number containers as met; false if one of them was met before."""
    addresses = [address_of(c) for c in inner]
    if not walk.memo.keys().isdisjoint(addresses):
        return False
    walk.memo.update(
        zip(addresses, range(len(walk.memo), len(walk.memo) + len(inner)), strict=True)
    )
    return True


def walk_set(walk: Walk, value: set[Any]) -> None:
    """A set, which others may share."""
    if not walk.is_known(value):
        walk.put(b"set", len(value))
        _members(walk, value)


@dataclass(frozen=True, slots=True)
class Elements:
    """What is in a set of a class of its own; in which order pickle lists it does not count."""

    items: list[Any]


def walk_elements(walk: Walk, value: Elements) -> None:
    """The elements of a set that is walked by its parts."""
    walk.put(b"elements", len(value.items))
    _members(walk, value.items)


def walk_frozenset(walk: Walk, value: frozenset[Any]) -> None:
    """A frozenset; which equal ones are the same does not count."""
    walk.put(b"frozenset", len(value))
    _members(walk, value)


def _members(walk: Walk, value: Collection[Any]) -> None:
    """The elements of a set, in an order that no hash decides."""
    if walk.is_too_wide(len(value)):
        return
    types = set(map(type, value))
    if types in ({str}, {int}, {bytes}):
        walk.out += plain.encoded_atoms(sorted(value), types)
    elif types <= plain.ATOMS:
        for data in sorted(map(plain.encoded_atom, value)):
            walk.out += data
    else:
        _members_alone(walk, value)


def _members_alone(walk: Walk, value: Collection[Any]) -> None:
    """Elements sorted by what lies near in them; all but small fixed ones are then walked in turn.

    Elements may lead to each other and to sets that hold them. Near is what an allowance reaches
    that they share alike, so that the order of the set decides nothing, and the time is linear.
    Of those that are alike that far the ones that were met before come first.
    """
    if walk.allowance is not None:
        _members_near(walk, value, walk.allowance)
        return
    met = walk.memo
    near = [
        (*_near(walk, element), met.get(address_of(element), sys.maxsize), element)
        for element in value
    ]
    near.sort(key=itemgetter(0, 2))
    for digest, _, _, _ in near:
        walk.put(b"member", digest)
    walk.push([element for _, goes_on, _, element in near if goes_on])


def _members_near(walk: Walk, value: Collection[Any], allowance: int) -> None:
    """Elements that share what is left of an allowance, of which they get half at most."""
    each = allowance // (2 * len(value))
    if not each:
        walk.put(b"many", len(value))
        walk.note_cut()
        return
    walk.allowance = allowance - each * len(value)
    found = [_walked(walk, element, each) for element in value]
    for digest, _ in sorted(found):
        walk.put(b"member", digest)
    if any(goes_on for _, goes_on in found):
        walk.note_cut()


def _near(walk: Walk, element: Any) -> tuple[Digest, bool]:
    """The digest of what lies near in an element, and whether there is more to walk of it."""
    found = walk.found
    if (known := found.near.get(id(element))) is not None:
        return known
    budget = found.budget
    known = found.near[id(element)] = _walked(walk, element, ALLOWANCE)
    found.keep.append(element)
    found.budget = budget
    return known


def _walked(walk: Walk, element: Any, allowance: int) -> tuple[Digest, bool]:
    inner = walk.inner(allowance=allowance)
    digest = inner.digest(element)
    return digest, inner.was_cut or bool(inner.memo)


def walk_bytes_like(walk: Walk, value: Any) -> None:
    """A buffer of bytes that can change."""
    if walk.is_known(value):
        return
    view = memoryview(value)
    walk.put(b"buffer", type(value).__name__, view.format, str(view.shape))
    lasts = view.c_contiguous
    if not lasts:
        data = memoryview(view.tobytes())
    elif view.format == "B" and view.ndim == 1:
        data = view
    else:
        data = PickleBuffer(value).raw()
    walk.put(b"", digest_of_memory(data, watch=lasts))


def walk_mapping_proxy(walk: Walk, value: MappingProxyType[Any, Any]) -> None:
    """A read-only view of a dict."""
    walk.put(b"mappingproxy")
    walk.push([dict(value)])


STEPS: dict[type, Step] = {
    list: walk_list,
    tuple: walk_tuple,
    dict: walk_dict,
    set: walk_set,
    frozenset: walk_frozenset,
    Elements: walk_elements,
    bytearray: walk_bytes_like,
    memoryview: walk_bytes_like,
    PickleBuffer: walk_bytes_like,
    MappingProxyType: walk_mapping_proxy,
}
