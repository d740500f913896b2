"""A store is its owner's alone, and all of it lies in its folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.storage import file_calls
from nbckpt.storage.disk import OWN, list_folder

OWN_FOLDER = 0o700
OTHERS = 0o077


def require_no_links(path: Path, rooms: Iterable[str]) -> None:
    """Raise if a room of a store is a link: what is written there, or deleted, lies elsewhere.

    The store itself may be named by a link.

    Raises
    ------
    StoreError
        If one is, or is no folder.
    """
    for room in rooms:
        with suppress(FileNotFoundError):
            mode = file_calls.files.lstat(path / room).st_mode
            if not stat.S_ISDIR(mode):
                what = "a link, which a store does not follow" if stat.S_ISLNK(mode) else "a file"
                message = f"{path / room} is {what}: put a folder there, or name another store"
                raise StoreError(message)


def keep_private(path: Path, rooms: Iterable[str]) -> None:
    """Take from others what they may do with a store of one's own, which was made when they might.

    The folder comes last, so that a store whose folder nobody else can enter is done. Where a
    file system knows no owners, all stays as it is.
    """
    status = file_calls.files.stat(path)
    if not status.st_mode & OTHERS or status.st_uid != os.geteuid():
        return
    folders = [path, *(path / room for room in rooms)]
    for file in (folder / name for folder in reversed(folders) for name in list_folder(folder)):
        _take_away(file)
    for folder in reversed(folders):
        _take_away(folder)


def _take_away(path: Path) -> None:
    with suppress(OSError):
        mode = file_calls.files.lstat(path).st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            file_calls.files.chmod(path, OWN_FOLDER if stat.S_ISDIR(mode) else OWN)
