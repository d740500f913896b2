"""From the mark of a store and a key of its user to the cipher that opens it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.config import encryption_from
from nbckpt.errors import FormatError, SealedError
from nbckpt.storage.folder import ENCRYPTION, Mark

if TYPE_CHECKING:
    from nbckpt.storage.ciphers import Cipher


def unlocked(path: Path, mark: Mark, source: str | None = None) -> Cipher | None:
    """The cipher of the store at `path`; None if it is not encrypted.

    Parameters
    ----------
    source
        Where the key is, as the setting `encryption` names it; by default that setting.

    Raises
    ------
    SealedError
        If the key is not there, or another one.
    FormatError
        If the wrapped key is damaged.
    """
    if ENCRYPTION not in mark:
        return None
    from nbckpt.storage.envelope import envelope_of, told, unwrap
    from nbckpt.storage.key_sources import read_key

    try:
        envelope = envelope_of(mark[ENCRYPTION])
        source = encryption_from() if source is None else source
        if not source or source == "off":
            message = (
                f"the store {path} is encrypted with {told(envelope)}: set NBCKPT_ENCRYPTION to"
                " where that is now, file:PATH, env:NAME or keyring:NAME"
            )
            raise SealedError(message)
        return unwrap(envelope, read_key(source), source)
    except FormatError as error:
        message = f"{path / 'format.json'}: {error}; put a copy of that file back"
        raise FormatError(message) from error


def new_members(source: str | None = None) -> Mark:
    """What the mark of a new store says of its encryption; nothing where that is off."""
    source = encryption_from() if source is None else source
    if not source or source == "off":
        return {}
    from nbckpt.storage.ciphers import Cipher, new_key
    from nbckpt.storage.envelope import wrap
    from nbckpt.storage.key_sources import kind_of, read_key

    envelope = wrap(Cipher(new_key()), read_key(source), kind_of(source))
    return {ENCRYPTION: envelope.members()}
