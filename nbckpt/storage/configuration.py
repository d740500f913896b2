"""The store's `config.json`, as text; `nbckpt.config.sources` reads it."""

from __future__ import annotations

from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.storage.disk import create_beside, read_whole, refused

CONFIG = "config.json"
MOST_BYTES = 1 << 20


def read_config(path: Path) -> str | None:
    """Text of the configuration file of the store at `path`; None if there is none.

    Raises
    ------
    StoreError
        If it cannot be read.
    """
    try:
        return read_whole(path / CONFIG, MOST_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{path / CONFIG} cannot be read: {error.strerror}"
        raise StoreError(message) from error


def write_config(path: Path, text: str) -> None:
    """Replace the file as a whole, durably.

    Raises
    ------
    StoreError
        If the disk refuses.
    """
    with refused(path / CONFIG), create_beside(path / CONFIG) as beside:
        beside.write(text.encode())
