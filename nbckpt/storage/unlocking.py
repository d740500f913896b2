"""From the mark of a store and a key of its user to the cipher that opens it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.config.settings_sources import encryption_from
from nbckpt.errors import FormatError, SealedError
from nbckpt.storage.disk import files_in, read_at, reading, refused
from nbckpt.storage.folder import ENCRYPTION, MARK, Mark
from nbckpt.storage.journal import SUFFIX

if TYPE_CHECKING:
    from nbckpt.storage.ciphers import Cipher

_SEALED = b'{"sealed":'


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
    source = encryption_from() if source is None else source
    if ENCRYPTION not in mark:
        if source and source != "off":
            _require_plain(path)
        return None
    from nbckpt.storage.envelope import envelope_of, told, unwrap
    from nbckpt.storage.key_sources import read_key

    try:
        envelope = envelope_of(mark[ENCRYPTION])
        if not source or source == "off":
            message = (
                f"the store {path} is encrypted with {told(envelope)}: set NBCKPT_ENCRYPTION to"
                " where that is now, file:PATH, env:NAME or keyring:NAME"
            )
            raise SealedError(message)
        return unwrap(envelope, read_key(source), source)
    except FormatError as error:
        message = f"{path / MARK}: {error}; put a copy of that file back"
        raise FormatError(message) from error


def holds_sealed(path: Path) -> bool:
    """True if a journal of the store at `path` was written with a cipher."""
    return any(map(_begins_sealed, files_in(path / "journal", SUFFIX)))


def _begins_sealed(journal: Path) -> bool:
    try:
        with reading(journal) as fd:
            return read_at(fd, len(_SEALED), 0) == _SEALED
    except FileNotFoundError:  # a prune took it just now
        return False


def _require_plain(path: Path) -> None:
    """Refuse a mark that says less than there is: what is written now would lie open."""
    with refused(path):
        is_sealed = holds_sealed(path)
    if is_sealed:
        message = (
            f"{path / MARK} does not say that the store is encrypted, and its journals are:"
            " somebody has changed it; put a copy of that file back, or delete it and have"
            " `nbckpt check --repair` take the store's own copy"
        )
        raise FormatError(message)


def new_members(source: str | None = None) -> Mark:
    """Members on encryption for the mark of a new store; none where that is off."""
    source = encryption_from() if source is None else source
    if not source or source == "off":
        return {}
    from nbckpt.storage.ciphers import Cipher, new_key
    from nbckpt.storage.envelope import wrap
    from nbckpt.storage.key_sources import kind_of, read_key

    envelope = wrap(Cipher(new_key()), read_key(source), kind_of(source))
    return {ENCRYPTION: envelope.members()}
