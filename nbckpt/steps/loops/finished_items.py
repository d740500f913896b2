"""Finished items of a loop.

Notes
-----
An item counts as finished by its digest, not by its place: the items of a set come in another
order in each process, and a new file changes the place of all that sort after it. The digests of
the finished items are kept in blobs, of which each is at least as long as all after it together,
so that a loop of n items writes n log n of them and its record names log n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.errors import UsageError
from nbckpt.fingerprint.values import BUDGET
from nbckpt.fingerprint.values.kinds import step_for
from nbckpt.fingerprint.values.plain import ATOMS, encoded_atom
from nbckpt.fingerprint.values.walking import Found, Opaque, Walk
from nbckpt.model import Checkpoint
from nbckpt.storage.store import Store
from nbckpt.text.describe import preview_of

SIZE = 16
"""Bytes of a digest that tell one item of a loop from another."""


@dataclass
class Finished:
    """The digests of a loop's finished items, and which of them are still to come by."""

    _blobs: list[bytes] = field(default_factory=list)
    _new: list[bytes] = field(default_factory=list)
    _expected: Counter[bytes] = field(default_factory=Counter)

    @classmethod
    def of(cls, partial: Checkpoint, store: Store, *, keeps_places: bool) -> Finished:
        """Those of a loop that did not finish.

        Parameters
        ----------
        keeps_places
            Whether items that only their place tells apart can be the same ones.
        """
        blobs = [b"".join(map(bytes, store.get_blob(digest))) for digest in partial.finished]
        each = (b[i : i + SIZE] for b in blobs for i in range(0, len(b), SIZE))
        return cls(blobs, [], Counter(d for d in each if keeps_places or not is_place(d)))

    def takes(self, digest: bytes) -> bool:
        """True if an item is finished; of equal items, as many are as were."""
        if not self._expected.get(digest):
            return False
        self._expected[digest] -= 1
        return True

    def expects(self, digest: bytes) -> bool:
        """True if an item with this digest is finished."""
        return bool(self._expected.get(digest))

    def add(self, digest: bytes) -> None:
        """Count an item as finished."""
        self._new.append(digest)

    def kept(self, store: Store) -> tuple[Digest, ...]:
        """The blobs that hold all digests, when they are in the store."""
        self._blobs.append(b"".join(self._new))
        self._new = []
        while len(self._blobs) > 1 and len(self._blobs[-2]) <= len(self._blobs[-1]):
            self._blobs[-2:] = [self._blobs[-2] + self._blobs[-1]]
        return tuple(store.put_blob([blob]) for blob in self._blobs if blob)


def digest_of_item(item: object, namespace: Mapping[str, object], place: int) -> bytes:
    """Digest that tells an item from others: of its value or, where that fails, of its place."""
    if type(item) in ATOMS:
        return blake3(encoded_atom(item)).digest(SIZE)
    found = Found(namespace, BUDGET)
    try:
        digest = Walk(found, step_for, is_strict=True).digest(item)
    except Opaque:
        return _place(place)
    return _place(place) if found.exhausted else bytes.fromhex(digest)[:SIZE]


def _place(place: int) -> bytes:
    return b"place".ljust(SIZE - 8, b"\0") + place.to_bytes(8, "big")


def is_place(digest: bytes) -> bool:
    """True if it is the place alone that tells an item from others."""
    return digest.startswith(b"place\0\0\0")


def digest_of_key(
    item: Any, key: Callable[[Any], object], namespace: Mapping[str, object], name: str
) -> bytes:
    """Digest that tells an item from others by its key.

    Raises
    ------
    UsageError
        If the key itself cannot be told from others, or `key` is not a function.
    """
    given: Any = key
    if not callable(given):
        message = (
            f"checkpoint {name!r}: key is {key!r}; it is a function that gives of an item what it"
            " is known by, such as `key=lambda doc: doc.id`"
        )
        raise UsageError(message)
    told = key(item)
    digest = digest_of_item(told, namespace, 0)
    if is_place(digest):
        message = (
            f"checkpoint {name!r}: the key of {preview_of(item)} is a {type(told).__name__}, which"
            " cannot be told from others: give a text, a number, or a tuple of them"
        )
        raise UsageError(message)
    return digest
