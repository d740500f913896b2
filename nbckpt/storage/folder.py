"""The store's folder: made once, by whoever comes first, and recognised by its `format.json`."""

from __future__ import annotations

import json
from pathlib import Path

from nbckpt.errors import FormatError, StoreError
from nbckpt.storage import system
from nbckpt.storage.disk import (
    create_beside,
    exists,
    files_in,
    make_folder,
    open_lock,
    read_whole,
    refusal,
    refused,
    sync_folder,
)
from nbckpt.storage.locks import FOLDER as LOCKS
from nbckpt.storage.locks import PRUNING, TURN, WRITING
from nbckpt.storage.private import require_no_links

FORMAT = 3
MARK = "format.json"
ROOMS = ("journal", "packs", "tables", "history", LOCKS)
OWN = frozenset({MARK, ".gitignore", "config.json", *ROOMS})


def open_folder(path: Path, *, create: bool) -> None:
    """Return when `path` is a store that this nbckpt can read.

    Opening what exists writes nothing.

    Raises
    ------
    StoreError
        If it is none, and `create` is false or the disk refuses.
    FormatError
        If it is damaged, or of a later format.
    """
    if _is_store(path):
        require_no_links(path, ROOMS)
        return
    _refuse_strangers(path)
    if not create:
        message = f"there is no store at {path}: %load_ext nbckpt in a notebook there makes one"
        raise StoreError(message)
    with refused(path):
        _make(path)


def mark_format(path: Path) -> None:
    """Say that the store holds what readers of an earlier format cannot read.

    A store of an earlier format becomes one of this format with the first pack that is added;
    what it holds stays as it is.

    Raises
    ------
    OSError
        If the disk refuses.
    """
    if _format_of(path) not in (None, FORMAT):
        _write_mark(path)


def _is_store(path: Path) -> bool:
    """Whether the mark is there and says a format that is known."""
    version = _format_of(path)
    if version is not None and version > FORMAT:
        message = f"{path} has store format {version}, newer than {FORMAT}: upgrade nbckpt"
        raise FormatError(message)
    return version is not None


def _format_of(path: Path) -> int | None:
    """What the mark says; None if there is none."""
    try:
        mark = json.loads(read_whole(path / MARK))
        return int(mark["format"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        message = f"{path / MARK} cannot be read: {error.strerror}"
        raise StoreError(message) from error
    except (ValueError, KeyError, TypeError) as error:
        message = f"{path / MARK} is damaged; a whole one reads {json.dumps({'format': FORMAT})}"
        raise FormatError(message) from error


def _refuse_strangers(path: Path) -> None:
    """Raise unless `path` is free, empty, or a store that is just being made."""
    try:
        names = set(system.files.listdir(path))
    except FileNotFoundError:
        return
    except NotADirectoryError:
        message = f"{path} is a file, not a folder: name another store with NBCKPT_STORE"
        raise StoreError(message) from None
    except OSError as error:
        raise refusal(error, path) from error
    others = sorted(name for name in names - OWN if not name.endswith(".tmp"))
    if others:
        message = f"{path} is no store, it holds {others[0]!r}: name a new or empty folder"
        raise StoreError(message)
    if files_in(path / "journal", ".jsonl") and not exists(path / MARK):
        message = f"{path / MARK} is gone; a whole one reads {json.dumps({'format': FORMAT})}"
        raise FormatError(message)


def _make(path: Path) -> None:
    """Make the store; the mark comes last, so that a store with its mark is whole.

    Two processes that do this at once write the same bytes under the same names.
    """
    for room in ROOMS:
        make_folder(path / room)
    for name in (WRITING, TURN, PRUNING):  # a full disk would have no room for them later
        system.files.close(open_lock(path / LOCKS / name))
    with create_beside(path / ".gitignore") as ignored:
        ignored.write(b"*\n")
    _write_mark(path)
    sync_folder(path.parent)


def _write_mark(path: Path) -> None:
    with create_beside(path / MARK) as mark:
        mark.write(json.dumps({"format": FORMAT}).encode() + b"\n")
