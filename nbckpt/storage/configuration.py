"""The store's `config.json`, as text; `nbckpt.config.settings_sources` reads it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.storage import file_calls
from nbckpt.storage.disk import read_whole, refused
from nbckpt.storage.new_files import create_beside
from nbckpt.storage.user import User
from nbckpt.storage.vouching import SETTINGS, digest_of_settings

CONFIG = "config.json"
MOST_BYTES = 1 << 20


class StoredConfig:
    """The `config.json` of a store, and whether this user wrote it.

    Parameters
    ----------
    path
        Folder of the store.
    user
        Vouches for what is written.
    prepare
        Called before a write.
    """

    def __init__(self, path: Path, user: User, prepare: Callable[[], None]) -> None:
        self._path = path
        self._user = user
        self._prepare = prepare
        self._own: set[bytes] = set()

    def text(self) -> str | None:
        """Text of the file; None if there is none.

        Raises
        ------
        StoreError
            If it cannot be read.
        """
        file = self._path / CONFIG
        try:
            return read_whole(file, MOST_BYTES).decode(errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror}"
            raise StoreError(message) from error

    def stamp(self) -> object:
        """What changes whenever the file does; None if there is none."""
        try:
            status = file_calls.files.stat(self._path / CONFIG)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def write(self, text: str) -> None:
        """Replace the file as a whole, durably; it counts as this user's own from now on.

        Raises
        ------
        StoreError
            If the disk refuses.
        """
        self._prepare()
        digest = digest_of_settings(text)
        with suppress(StoreError):  # whose home cannot be written was told so: see `prepare`
            self._user.vouch(SETTINGS, [digest])  # before it is there: it counts at once
        self._own.add(digest)
        file = self._path / CONFIG
        with refused(file), create_beside(file) as beside:
            beside.write(text.encode())

    def is_own(self, text: str) -> bool:
        """True if this user has written such a file by nbckpt, or vouched for it."""
        digest = digest_of_settings(text)
        return digest in self._own or digest in self._user.vouches(SETTINGS)
