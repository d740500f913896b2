"""Size of a store on the disk."""

from __future__ import annotations

from pathlib import Path

from nbckpt.storage import file_calls
from nbckpt.storage.disk import list_folder


def size_of(path: Path) -> int:
    """Bytes of a store's journals, packs and tables."""
    folders = (path / room for room in ("journal", "packs", "tables"))
    return sum(size_of_file(folder / name) for folder in folders for name in list_folder(folder))


def size_of_file(path: Path) -> int:
    """Bytes of a file; none of one that has gone."""
    try:
        return file_calls.files.lstat(path).st_size
    except FileNotFoundError:
        return 0
