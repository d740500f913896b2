"""The data key of a store, wrapped under a key of its users; it stands in `format.json`.

So another key for the same store costs one small file, and not the whole store written anew.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from nbckpt.errors import FormatError, SealedError
from nbckpt.storage.ciphers import KEY_BYTES, OVERHEAD_BYTES, Cipher, Seal, derived, id_of

NAME = "AES-256-GCM"


@dataclass(frozen=True, slots=True)
class Envelope:
    """A store's public data on its encryption.

    Attributes
    ----------
    key
        Id of the key that opens it.
    source
        Where that key was found when the envelope was made, for people: ``file``, ``env:NAME``,
        ``keyring:NAME``. Never a path, and never believed.
    data
        Id of the data key.
    wrapped
        The data key, sealed.
    """

    key: str
    source: str
    data: str
    wrapped: bytes

    def members(self) -> dict[str, str]:
        """As JSON."""
        wrapped = base64.b64encode(self.wrapped).decode()
        return {
            "cipher": NAME,
            "key": self.key,
            "source": self.source,
            "data": self.data,
            "wrapped": wrapped,
        }


def envelope_of(members: object) -> Envelope:
    """The envelope that a mark holds.

    Raises
    ------
    FormatError
        If it is damaged, or of a cipher that is not known.
    """
    try:
        if not isinstance(members, Mapping):
            raise TypeError
        if (name := members["cipher"]) != NAME:
            message = f"the store is encrypted with {str(name)[:40]!r}, which needs a newer nbckpt"
            raise FormatError(message)
        texts = [members[name] for name in ("key", "source", "data", "wrapped")]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
        key, source, data, wrapped = texts
        envelope = Envelope(key, source, data, base64.b64decode(wrapped, validate=True))
        if len(envelope.wrapped) != KEY_BYTES + OVERHEAD_BYTES:
            raise ValueError
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        message = "the store's wrapped key is damaged"
        raise FormatError(message) from error
    return envelope


def wrap(cipher: Cipher, key: bytes, source: str) -> Envelope:
    """The data key of `cipher` under a key of the user's."""
    own = id_of(key)
    sealed = _seal(key).seal(cipher.data_key, _bound(own, cipher.id))
    return Envelope(own, source, cipher.id, sealed)


def unwrap(envelope: Envelope, key: bytes, source: str) -> Cipher:
    """The cipher of a store.

    Parameters
    ----------
    source
        Where the key was found, for the message.

    Raises
    ------
    SealedError
        If it is another key.
    FormatError
        If it is the right one, and the envelope is damaged.
    """
    own = id_of(key)
    data_key = _seal(key).open(envelope.wrapped, _bound(envelope.key, envelope.data))
    if data_key is not None:
        return Cipher(data_key)
    if own == envelope.key:
        message = f"the wrapped key is damaged: key {own} from {source} is right and opens it not"
        raise FormatError(message)
    message = (
        f"key {own} from {source} is another one than this store's, which is {told(envelope)}:"
        " set NBCKPT_ENCRYPTION to where that is"
    )
    raise SealedError(message)


def told(envelope: Envelope) -> str:
    """Text on the key that opens the store, for people."""
    places = {"file": "a file", "env": "the variable", "keyring": "the system's keyring"}
    kind, _, name = envelope.source.partition(":")
    place = places.get(kind, "a place")
    of = f" {name[:60]!r}" if name else ""
    return f"key {envelope.key[:16]} ({place}{of} when it was set)"


def _seal(key: bytes) -> Seal:
    return Seal(derived(key, "wrapping"))


def _bound(key: str, data: str) -> bytes:
    return f"{NAME} {key} {data}".encode()
