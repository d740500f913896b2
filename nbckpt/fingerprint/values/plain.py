"""Plain data: atoms, and trees of lists, tuples and dicts of them, encoded at the speed of C.

Notes
-----
`marshal` in its version 2 is the encoder: it writes values and no identities, so equal values
have equal bytes in every process. (Its later versions mark shared and interned strings, and so
does `pickle` in all of its.) It follows no cycles and keeps no aliasing, so what it is given has
first been found to be a tree.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain, compress
from operator import not_
from threading import get_ident
from types import EllipsisType, NoneType
from typing import Any, TypeVar

from blake3 import blake3

from nbckpt.fingerprint.values import text_rows
from nbckpt.runtime.addresses import address_of
from nbckpt.runtime.dict_version import version_of

ATOMS = frozenset({NoneType, bool, int, float, complex, str, bytes, EllipsisType})
MARSHAL_VERSION = 2
LEVELS = 8
MANY_ITEMS = 20_000_000
MANY_OBJECTS = 100_000
MANY_AT_ONCE = 100
FEW = 16
"""Items of a container that are looked at one by one as quickly."""
MANY_APART = 4_096
LONG_BYTES = 1 << 24
SHORT_BYTES = 128

_Look = TypeVar("_Look")

TEXTS = frozenset({str, bytes})
CONTAINERS = frozenset({list, tuple, dict})
PLAIN = ATOMS | CONTAINERS


def encoded_atom(atom: Any) -> bytes:
    """The canonical bytes of one atom; the digest stands for a long text."""
    kind = type(atom)
    if (kind is str or kind is bytes) and len(atom) > SHORT_BYTES:
        return _digested(b"text", marshal.dumps(atom[:0], MARSHAL_VERSION), _bytes_of(atom))
    return marshal.dumps(atom, MARSHAL_VERSION)


def encoded_atoms(atoms: Sequence[Any], types: Set[type]) -> bytes:
    """The canonical bytes of many atoms in order; `types` are the types among them."""
    return text_rows.encoded(atoms, lambda: _encoded_atoms(atoms, types))


def _encoded_atoms(atoms: Sequence[Any], types: Set[type]) -> bytes:
    if not types.isdisjoint(TEXTS) and _text_length(atoms, types) > LONG_BYTES:
        return _encoded_apart(atoms)
    return shortened(marshal.dumps(list(atoms), MARSHAL_VERSION))


def shortened(data: bytes) -> bytes:
    """`data` if it is short, else its digest."""
    return data if len(data) <= SHORT_BYTES else _digested(b"long", data)


def without_atoms(namespace: Mapping[str, object]) -> dict[str, object]:
    """The entries that are no atoms; in a notebook most are: IPython keeps each cell's text.

    In a few calls into C. Of a dict that has not changed since it was asked last, the names are
    known; its values are not held.
    """
    version = version_of(namespace) if type(namespace) is dict else None
    known, names = _last.names
    if version is None or version != known:
        there = dict(namespace)
        are_atoms = map(ATOMS.__contains__, map(type, there.values()))
        names = tuple(compress(there, map(not_, are_atoms)))
        _last.names = version, names
    return {name: namespace[name] for name in names if name in namespace}


class _Last:
    """The dict that was asked last: its version, which no two states of dicts share, and names."""

    names: tuple[int | None, tuple[str, ...]] = (None, ())


_last = _Last()


def levels_of(roots: Iterable[object]) -> list[list[Any]] | None:
    """The lists, tuples and dicts of plain data, level by level; None if there is more than these.

    Each level is looked at in a few calls into C, whatever its size. A container that is reached
    twice is there twice; data that is nested deeply, or holds itself, counts as more.
    """
    level: list[Any] = list(roots)
    if len(level) != 1 or type(level[0]) not in CONTAINERS or len(level[0]) < MANY_AT_ONCE:
        return _levels_of(level)
    return once_a_block(level[0], _levels_of_one)


def once_a_block(root: Any, look: Callable[[Any], _Look]) -> _Look:
    """What a look at one large value finds; inside `remembered_looks` it is taken once."""
    found = _looks.found
    if found is None or get_ident() != _looks.thread:
        return look(root)
    known = found.get((id(root), look))
    if known is None:
        known = found[id(root), look] = (root, look(root))
    answer: _Look = known[1]
    return answer


def _levels_of_one(root: Any) -> list[list[Any]] | None:
    return _levels_of([root])


class _Looks:
    """Roots that were looked at in a block, and what each look found; None outside of one."""

    found: dict[tuple[int, object], tuple[object, Any]] | None = None
    thread = 0


_looks = _Looks()


class remembered_looks:  # noqa: N801  # reads as a state: with remembered_looks():
    """In the block, each large root is looked at once: none of the notebook's code changes it."""

    __slots__ = ("_is_outermost",)

    def __enter__(self) -> None:
        self._is_outermost = _looks.found is None
        if self._is_outermost:
            _looks.found, _looks.thread = {}, get_ident()

    def __exit__(self, *_: object) -> None:
        if self._is_outermost:
            _looks.found = None


def forget_looks() -> None:
    """Have all roots be looked at again: values were changed."""
    if _looks.found is not None:
        _looks.found = {}


def _levels_of(level: list[Any]) -> list[list[Any]] | None:
    levels: list[list[Any]] = []
    n_items = 0
    for _ in range(LEVELS):
        types = set(map(type, level))
        n_items += len(level)
        if n_items > MANY_ITEMS or not types <= PLAIN:
            return None
        kinds = types & CONTAINERS
        if not kinds:
            return levels
        if types != kinds:
            level = [item for item in level if type(item) in CONTAINERS]
        levels.append(level)
        level = _inside(level, kinds)
    return None


def mutable_of(levels: Iterable[list[Any]]) -> list[object]:
    """The lists and dicts among some containers."""
    found: list[object] = []
    for level in levels:
        has_tuples = tuple in set(map(type, level))
        found.extend([c for c in level if type(c) is not tuple] if has_tuples else level)
    return found


def tree_of(root: object) -> list[object] | None:
    """The mutable containers inside `root`; None if it is no tree of plain data."""
    levels = levels_of([root])
    if levels is None:
        return None
    found = mutable_of(levels)
    return found if are_different(found) else None


def are_different(objects: list[object]) -> bool:
    """True if no object is there twice."""
    numpy = sys.modules.get("numpy")
    if numpy is None or len(objects) < MANY_OBJECTS:
        return len(set(map(address_of, objects))) == len(objects)
    # A set of a million identities takes a hundred megabytes: an array of objects is their
    # addresses, one after the other.
    held = numpy.fromiter(objects, dtype=object, count=len(objects))
    addresses = numpy.sort(text_rows.addresses_in(held))
    return not bool((addresses[1:] == addresses[:-1]).any())


def encoded_tree(root: Any) -> bytes | None:
    """The canonical bytes of what `tree_of` found to be a tree; None if it is too large."""
    try:
        return shortened(marshal.dumps(root, MARSHAL_VERSION))
    except (ValueError, MemoryError):
        return None


def _inside(level: list[Any], kinds: Set[type]) -> list[Any]:
    if dict not in kinds:
        return list(chain.from_iterable(level))
    rows = [] if len(kinds) == 1 else [c for c in level if type(c) is not dict]
    dicts = level if len(kinds) == 1 else [c for c in level if type(c) is dict]
    return [
        *chain.from_iterable(rows),
        *chain.from_iterable(dicts),
        *chain.from_iterable(map(dict.values, dicts)),
    ]


def _text_length(atoms: Sequence[Any], types: Set[type]) -> int:
    if types <= TEXTS:
        return sum(map(len, atoms))
    return sum(len(a) for a in atoms if type(a) in TEXTS)


def _bytes_of(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _encoded_apart(atoms: Sequence[Any]) -> bytes:
    """Atoms whose text is long, some after the others, so that it is not copied at once."""
    hasher = blake3()
    for start in range(0, len(atoms), MANY_APART):
        some = atoms[start : start + MANY_APART]
        if _text_length(some, set(map(type, some))) <= MANY_APART * SHORT_BYTES:
            hasher.update(marshal.dumps(list(some), MARSHAL_VERSION))
            continue
        for atom in some:
            hasher.update(encoded_atom(atom))
    return b"\x01apart" + hasher.digest()


def _digested(kind: bytes, *parts: bytes) -> bytes:
    hasher = blake3()
    for part in parts:
        hasher.update(part)
    return b"\x01" + kind + hasher.digest()
