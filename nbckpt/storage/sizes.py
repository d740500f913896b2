"""What a store takes on the disk."""

from __future__ import annotations

from pathlib import Path


def size_of(path: Path) -> int:
    """Bytes of a store's journals, packs and tables."""
    folders = (path / room for room in ("journal", "packs", "tables"))
    files = (file for folder in folders if folder.is_dir() for file in folder.iterdir())
    return sum(size_of_file(file) for file in files)


def size_of_file(path: Path) -> int:
    """Bytes of a file; none of one that has gone."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
