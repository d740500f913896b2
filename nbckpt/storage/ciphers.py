"""Seal what lies in a store, so that who has the folder and not the key reads none of it.

A store has one data key. Of it come a key for each kind of thing that is sealed, so that nothing
can be passed off as something of another kind, and the secret names of tables.

Notes
-----
AES-256-GCM of `cryptography`: two to three times as fast as hashing here, and what was changed or
moved does not open. XChaCha20, with nonces too long to repeat, is slower and not in that package;
with random nonces of 96 bits a key is good for 2³² pieces, which is more than a store holds.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.errors import SealedError

if TYPE_CHECKING:
    Bytes = bytes | bytearray | memoryview[int]

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES
"""By so much what is sealed is longer."""


class Seal:
    """Seals and opens pieces of one kind, with one key; for any number of threads."""

    def __init__(self, key: bytes) -> None:
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            message = (
                "encryption needs a package that is not here: pip install 'nbckpt[encryption]'"
            )
            raise SealedError(message) from error
        self._aes = AESGCM(key)
        self._refused = InvalidTag

    def seal(self, data: Bytes, bound: bytes) -> bytes:
        """`data` encrypted: nonce, ciphertext and tag.

        Parameters
        ----------
        bound
            What the piece is and where it belongs: it opens with the same alone.
        """
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._aes.encrypt(nonce, data, bound)

    def open(self, sealed: Bytes, bound: bytes) -> bytes | None:
        """The data that was sealed; None if it was changed, or has another place or key."""
        view = memoryview(sealed)
        if len(view) < OVERHEAD_BYTES:
            return None
        try:
            return self._aes.decrypt(bytes(view[:NONCE_BYTES]), view[NONCE_BYTES:], bound)
        except self._refused:
            return None


class Cipher:
    """All that is sealed with the data key of one store.

    Attributes
    ----------
    id
        Tells data keys apart, and says nothing of them.
    data_key
        32 bytes: to be wrapped, and not to be kept anywhere else.
    """

    def __init__(self, data_key: bytes) -> None:
        self.data_key = data_key
        self.id = id_of(data_key)
        self.chunks = Seal(derived(data_key, "chunks"))
        self.frames = Seal(derived(data_key, "frames"))
        self.lines = Seal(derived(data_key, "lines"))
        self.tables = Seal(derived(data_key, "tables"))
        self._names = derived(data_key, "names of tables")

    def name_of_table(self, value: Digest) -> str:
        """A name of a table by which nobody finds out which value it has."""
        return blake3(value.encode(), key=self._names).hexdigest()


def new_key() -> bytes:
    """A key that nobody has."""
    return os.urandom(KEY_BYTES)


def derived(key: bytes, purpose: str) -> bytes:
    """A key for one purpose, from which nobody finds `key`."""
    return blake3(key, derive_key_context=f"nbckpt store 1 {purpose}").digest()


def id_of(key: bytes) -> str:
    """A short name of a key, from which nobody finds it: 12 hex digits."""
    return derived(key, "id of a key")[:6].hex()


_OPENED: weakref.WeakValueDictionary[Path, Cipher] = weakref.WeakValueDictionary()


def remember(path: Path, cipher: Cipher | None) -> Cipher | None:
    """Have all who work on the store at `path` find its cipher, as long as somebody holds it.

    Returns
    -------
    Cipher | None
        The one to hold: of two who open a store neither takes it away from the other.
    """
    if cipher is None:
        _OPENED.pop(path, None)
        return None
    known = _OPENED.get(path)
    if known is not None and known.id == cipher.id:
        return known
    _OPENED[path] = cipher
    return cipher


def cipher_of(path: Path) -> Cipher | None:
    """The cipher of the store at `path`, which this process has opened; None if it is plain."""
    return _OPENED.get(path)
