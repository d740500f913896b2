"""The store's folder: made once, by whoever comes first, and recognised by its `format.json`."""

from __future__ import annotations

import fcntl
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from nbckpt.digests import digest_of_json
from nbckpt.errors import FormatError, StoreError
from nbckpt.storage import file_calls
from nbckpt.storage.disk import (
    delete,
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
from nbckpt.storage.new_files import create_beside
from nbckpt.storage.private_folder import require_no_links

if TYPE_CHECKING:
    from nbckpt.storage.ciphers import Cipher

Mark: TypeAlias = dict[str, Any]
"""Contents of `format.json`: the version of its format, and what a reader needs before any file."""

FORMAT = 1
VERSION = "nbckpt"
"""Of the mark: the version of the format that the store has."""
FORMER = "format"
"""Of the mark of a store from before nbckpt 1.0, in the place of `VERSION`."""
MARK = "format.json"
ENCRYPTION = "encryption"
"""Of the mark: the envelope, in a store that is encrypted."""
COPY = "format.copy.json"
"""Of the mark of an encrypted store: without what it says nobody opens it, ever."""
ID = "id"
"""Of the mark: a random name of the store, which is in each signature of its journals.

A journal that somebody puts into another store is signed by nobody there. A copy of a whole store
is the same store.
"""
ID_BYTES = 8
SUM = "sum"
SUM_DIGITS = 16
MOST_BYTES = 1 << 20
ROOMS = ("journal", "packs", "tables", "history", LOCKS)
ASIDE = ".damaged"
"""Where a repair puts what is damaged."""
OWN = frozenset({MARK, COPY, ".gitignore", ASIDE, "config.json", "spending.jsonl", *ROOMS})


def open_folder(path: Path, *, create: bool, extra: Callable[[], Mark] = dict[str, object]) -> Mark:
    """Open or make the store at `path`; return its mark, which this nbckpt can read.

    Opening what exists writes nothing.

    Parameters
    ----------
    extra
        Gives more members for the mark of a store that is made.

    Raises
    ------
    StoreError
        If there is none, and `create` is false or the disk refuses.
    FormatError
        If it is damaged, or of a later format.
    """
    mark = _known_mark(path)
    if mark is not None:
        require_no_links(path, (*ROOMS, ASIDE))
        return mark
    _refuse_strangers(path)
    if not create:
        message = f"there is no store at {path}: %load_ext nbckpt in a notebook there makes one"
        raise StoreError(message)
    with refused(path):
        return _make(path, extra)


def require_cipher(path: Path, cipher: Cipher | None) -> None:
    """Raise unless the store is still encrypted as it was when the caller opened it.

    Parameters
    ----------
    cipher
        With which the caller is going to write.

    Raises
    ------
    StoreError
        If it has another data key now, or none.
    """
    mark = read_mark(path)
    if mark is not None and _data_key_of(mark) != (cipher.id if cipher else None):
        message = (
            f"{path} got another key, or none, after this session had opened it, and nothing more"
            " is written into it: restart the kernel, then %resume"
        )
        raise StoreError(message)


def _data_key_of(mark: Mark) -> object:
    """The id of the data key with which the store is encrypted; None if it is not."""
    envelope = mark.get(ENCRYPTION)
    return envelope.get("data") if isinstance(envelope, dict) else envelope


def id_of_store(path: Path) -> str:
    """The random name of the store at `path`; empty of one that has none, or cannot be read."""
    try:
        return id_of(read_mark(path) or {})
    except (FormatError, StoreError):
        return ""


def id_of(mark: Mark) -> str:
    """The random name that a mark gives its store; empty of one that has none."""
    return str(mark.get(ID, ""))


def _known_mark(path: Path) -> Mark | None:
    """The mark, if it is there; it says a format that is known."""
    mark = read_mark(path)
    if mark is not None and mark[VERSION] > FORMAT:
        message = f"{path} has store format {mark[VERSION]}, newer than {FORMAT}: upgrade nbckpt"
        raise FormatError(message)
    return mark


def read_mark(path: Path, name: str = MARK) -> Mark | None:
    """The mark of a store, its `VERSION` a number; None if there is none.

    Raises
    ------
    FormatError
        If it is damaged, or of a store from before nbckpt 1.0.
    StoreError
        If the disk refuses.
    """
    try:
        mark = json.loads(read_whole(path / name, MOST_BYTES))
        if (own := mark.pop(SUM, None)) not in (None, _sum_of(mark)):
            raise ValueError(own)
        return {**mark, VERSION: int(mark[VERSION])}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        message = f"{path / MARK} cannot be read: {error.strerror}"
        raise StoreError(message) from error
    except (
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        refuse_former(path)
        message = f"{path / name} is damaged: `nbckpt check --repair` writes it anew"
        raise FormatError(message) from error


def refuse_former(path: Path) -> None:
    """Raise if the store is from before nbckpt 1.0: nothing of it is read or changed.

    Raises
    ------
    FormatError
        If it is; the message says what to do.
    """
    try:
        mark = json.loads(read_whole(path / MARK, MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(mark, dict) and VERSION not in mark and type(mark.get(FORMER)) is int:
        raise former_store(path, f" (format {mark[FORMER]})")


def former_store(path: Path, version: str = "") -> FormatError:
    """The error for a store from before nbckpt 1.0."""
    message = (
        f"{path} is a store from before nbckpt 1.0{version}, which this version cannot read:"
        " move or delete it, or name another store with NBCKPT_STORE"
    )
    return FormatError(message)


def _refuse_strangers(path: Path) -> None:
    """Raise unless `path` is free, empty, or a store that is just being made."""
    try:
        names = set(file_calls.files.listdir(path))
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
        message = f"{path / MARK} is gone: `nbckpt check --repair` writes it anew"
        raise FormatError(message)


def _make(path: Path, extra: Callable[[], Mark]) -> Mark:
    """Make the store; the mark comes last, so that a store with its mark is whole.

    Of two processes that do this at once the first one's mark stays.
    """
    for room in ROOMS:
        make_folder(path / room)
    for name in (WRITING, TURN, PRUNING):  # a full disk would have no room for them later
        file_calls.files.close(open_lock(path / LOCKS / name))
    with create_beside(path / ".gitignore") as ignored:
        ignored.write(b"*\n")
    turn = open_lock(path / LOCKS / TURN)
    try:
        with suppress(OSError):  # some network file systems know no locks
            file_calls.files.flock(turn, fcntl.LOCK_EX)
        mark = _known_mark(path)
        if mark is None:
            mark = {VERSION: FORMAT, ID: secrets.token_hex(ID_BYTES), **extra()}
            write_mark(path, mark)
    finally:
        file_calls.files.close(turn)
    sync_folder(path.parent)
    return mark


def write_mark(path: Path, mark: Mark) -> None:
    """Replace the mark, durably: it is the old one or the new one at any instant."""
    text = json.dumps({**mark, SUM: _sum_of(mark)}).encode() + b"\n"
    for name in (MARK, COPY) if mark.keys() - {VERSION} else (MARK,):
        with create_beside(path / name) as file:
            file.write(text)
    if not mark.keys() - {VERSION}:
        delete(path / COPY)


def _sum_of(mark: Mark) -> str:
    return digest_of_json(mark)[:SUM_DIGITS]
