"""Where a user's key comes from: a file, a variable of the environment, the system's keyring."""

from __future__ import annotations

import base64
import binascii
import os
import re
from pathlib import Path
from typing import Any

from nbckpt.config.settings_sources import key_in_environment
from nbckpt.errors import SealedError, UsageError
from nbckpt.storage import file_calls
from nbckpt.storage.ciphers import KEY_BYTES, new_key
from nbckpt.storage.disk import create, refused, sync_folder, write_at

FILE = "file"
ENV = "env"
KEYRING = "keyring"
SERVICE = "nbckpt"
NAME = "default"
LARGEST_BYTES = 4096
"""A file with more in it is no key."""

_HEX = re.compile(r"[0-9a-fA-F]{64}\Z")
_FORM = "32 bytes as 64 hex digits or as base64"


def read_key(source: str) -> bytes:
    """The key at `source`, as the setting `encryption` names it.

    Raises
    ------
    SealedError
        If there is none, or it is no key; the message never holds it.
    UsageError
        If `source` says no place.
    """
    kind, _, rest = source.partition(":")
    if kind == FILE and rest:
        text = _in_file(Path(rest).expanduser())
    elif kind == ENV and rest:
        text = key_in_environment(rest) or ""
        if not text:
            message = f"the variable {rest} holds no key: set it to {_FORM}, or name another source"
            raise SealedError(message)
    elif kind == KEYRING:
        text = _in_keyring(rest or NAME)
    else:
        message = f"{source!r} names no key: write file:PATH, env:NAME, keyring or keyring:NAME"
        raise UsageError(message)
    return _decoded(text.strip(), source)


def make_key(source: str) -> str:
    """Put a new key where there is none; the setting `encryption` that finds it.

    Parameters
    ----------
    source
        ``file:PATH``, a path, ``keyring`` or ``keyring:NAME``.

    Raises
    ------
    UsageError
        If a key is there already, or `source` is a variable.
    SealedError
        If there is no keyring.
    StoreError
        If the disk refuses.
    """
    kind, _, rest = source.partition(":")
    if kind == KEYRING:
        ring, name = _keyring(), rest or NAME
        if ring.get_password(SERVICE, name):
            message = f"the keyring has a key {name!r} already, which may open stores; name another"
            raise UsageError(message)
        ring.set_password(SERVICE, name, new_key().hex())
        return f"{KEYRING}:{name}"
    if kind == ENV:
        message = "nbckpt sets no variables: make a key file, and set the variable to what it holds"
        raise UsageError(message)
    path = Path(rest if kind == FILE else source).expanduser()
    try:
        with refused(path):
            fd = create(path)  # for its owner alone, and never over a file that is there
            try:
                write_at(fd, new_key().hex().encode() + b"\n", 0)
                file_calls.files.fsync(fd)
            finally:
                file_calls.files.close(fd)
            sync_folder(path.parent)
    except Exception as error:
        if isinstance(error.__cause__, FileExistsError):
            message = f"{path} is there already, and may open stores; name another file"
            raise UsageError(message) from None
        raise
    return f"{FILE}:{path.absolute()}"


def kind_of(source: str) -> str:
    """A key source as others may know it: without the path of a file."""
    return FILE if source.startswith(f"{FILE}:") else source


def _in_file(path: Path) -> str:
    try:
        fd = file_calls.files.open(path, os.O_RDONLY)
        try:
            return file_calls.files.pread(fd, LARGEST_BYTES + 1, 0).decode("ascii", "replace")
        finally:
            file_calls.files.close(fd)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"the key file {path} cannot be read ({reason}): set NBCKPT_ENCRYPTION to another"
        raise SealedError(message) from error


def _in_keyring(name: str) -> str:
    key: str | None = _keyring().get_password(SERVICE, name)
    if not key:
        message = (
            f"the system's keyring has no key {name!r}: `nbckpt key new keyring:{name}` makes one"
        )
        raise SealedError(message)
    return key


def _keyring() -> Any:
    try:
        import keyring
        from keyring.backends.fail import Keyring as NoKeyring
    except ImportError as error:
        message = "the system's keyring needs a package: pip install 'nbckpt[encryption]'"
        raise SealedError(message) from error
    if isinstance(keyring.get_keyring(), NoKeyring):
        message = "this system has no keyring that can be used: name a key with file:PATH"
        raise SealedError(message)
    return keyring


def _decoded(text: str, source: str) -> bytes:
    try:
        if _HEX.match(text):
            return bytes.fromhex(text)
        key = base64.b64decode(text.translate(str.maketrans("-_", "+/")), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != KEY_BYTES:
        message = f"what is at {source} is no key: it is to be {_FORM}"
        raise SealedError(message)
    return key
