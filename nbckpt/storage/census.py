"""Inventory of a store's folder by names, sizes and locks: no file but the mark is read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from nbckpt.errors import StoreError
from nbckpt.storage import file_calls
from nbckpt.storage.disk import files_in, is_locked, list_folder
from nbckpt.storage.folder import VERSION, read_mark
from nbckpt.storage.journal import SUFFIX
from nbckpt.storage.sizes import size_of_file

ROOMS = ("journal", "packs", "tables")


class Census(NamedTuple):
    """Inventory of a store's folder.

    Attributes
    ----------
    is_encrypted
        True if the contents are sealed.
    sizes
        Bytes of each room.
    alive, dead
        Journals that a session writes to, and that none does.
    free_bytes, disk_bytes
        Of the file system, for this user; None where it does not tell.
    """

    format: int
    is_encrypted: bool
    sizes: dict[str, int]
    alive: int
    dead: int
    free_bytes: int | None
    disk_bytes: int | None


def census(path: Path) -> Census:
    """Inventory of the store at `path`.

    Raises
    ------
    FormatError
        If its mark is damaged.
    StoreError
        If its mark cannot be read, or is gone.
    """
    mark = read_mark(path)
    if mark is None:
        message = f"there is no store at {path}: %load_ext nbckpt in a notebook there makes one"
        raise StoreError(message)
    journals = files_in(path / "journal", SUFFIX)
    alive = sum(map(_is_written, journals))
    free, size = _disk(path)
    return Census(
        mark[VERSION],
        "encryption" in mark,
        {room: _size_of(path / room) for room in ROOMS},
        alive,
        len(journals) - alive,
        free,
        size,
    )


def _size_of(folder: Path) -> int:
    return sum(size_of_file(folder / name) for name in list_folder(folder))


def _is_written(journal: Path) -> bool:
    try:
        return is_locked(journal)
    except OSError:  # a prune has just taken it, or it cannot be read: nobody's
        return False


def _disk(path: Path) -> tuple[int | None, int | None]:
    try:
        told = file_calls.files.statvfs(path)
    except OSError:
        return None, None
    return told.f_bavail * told.f_frsize, told.f_blocks * told.f_frsize
