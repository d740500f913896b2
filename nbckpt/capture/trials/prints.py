"""A short text that is another when an object's own state is; no code of the object is run."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import Any

from blake3 import blake3

from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import elements_of, members_of, pairs_of

MOST_OBJECTS = 5_000
MOST_LETTERS = 1_000


def print_of(value: Any) -> bytes:
    """A digest of the atoms inside a value, and of the shape of what holds them.

    Attributes count, and what lists, tuples, sets and dicts hold; the state of objects that are
    written in C does not.
    """
    hasher, seen, waiting = blake3(), dict[int, int](), deque([value])
    kept = []
    while waiting and len(seen) < MOST_OBJECTS:
        item = waiting.popleft()
        kind = type(item)
        if issubclass(kind, type):
            hasher.update(f"class {item.__module__}.{item.__qualname__};".encode(errors="replace"))
            continue
        hasher.update(f"{kind.__module__}.{kind.__qualname__};".encode(errors="replace"))
        if kind in ATOMS:
            hasher.update(_text_of(item).encode(errors="replace"))
            continue
        if id(item) in seen:
            hasher.update(b"%d" % seen[id(item)])
            continue
        seen[id(item)] = len(seen)
        kept.append(item)
        inside = _inside(item)
        hasher.update(b"%d" % len(inside))
        waiting.extend(inside)
    return hasher.digest()


def _text_of(atom: Any) -> str:
    if type(atom) is int:  # its decimal digits may be more than Python converts
        return hex(atom)
    return repr(atom[:MOST_LETTERS] if isinstance(atom, str | bytes) else atom)


def _inside(item: Any) -> list[Any]:
    pairs = [*pairs_of(item), *members_of(item).items()]
    return [*elements_of(item), *chain.from_iterable(pairs)]
