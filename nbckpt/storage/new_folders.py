"""A new folder, or store, that appears under its name when it is whole, and not before."""

from __future__ import annotations

import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.storage import file_calls
from nbckpt.storage.disk import (
    OTHERS_TOO,
    delete_folder,
    exists,
    list_folder,
    make_folder,
    refusal,
    refused,
    sync_folder,
)
from nbckpt.storage.new_files import NewFile, create_beside
from nbckpt.storage.store import Store

FOR_OTHERS_TOO = 0o777


def refuse_taken(path: Path) -> None:
    """Raise unless a new folder can be made at `path`: nothing is there, or an empty folder.

    Raises
    ------
    StoreError
        If something else is, or it cannot be looked at.
    """
    try:
        is_folder = not exists(path) or stat.S_ISDIR(file_calls.files.lstat(path).st_mode)
        held = list_folder(path)
    except OSError as error:
        raise refusal(error, path) from error
    if not is_folder:
        message = f"{path} is a file, or a link: name a new or empty folder"
        raise StoreError(message)
    if held:
        message = f"{path} is not empty, it holds {held[0]!r}: name a new or empty folder"
        raise StoreError(message)


@contextmanager
def new_store(path: Path, key: str | None = None) -> Iterator[Store]:
    """A store to be filled, which becomes `path` when the block ends well; else nothing is left.

    Parameters
    ----------
    key
        Where the key is that it is encrypted with, or ``off``; by default as the setting says.

    Raises
    ------
    StoreError
        If `path` is taken, or the disk refuses.
    """
    with _draft_of(path) as draft:
        store = Store.open(draft, key=key)
        try:
            yield store
            store.wait()
        finally:
            store.close()


@contextmanager
def new_folder(path: Path, inside: Iterable[str] = ()) -> Iterator[Path]:
    """A folder to be filled, which becomes `path` when the block ends well; else nothing is left.

    Others may read it, as the process's mask says.

    Parameters
    ----------
    inside
        Names of the folders that it is to have.

    Raises
    ------
    StoreError
        If `path` is taken, or the disk refuses.
    """
    with _draft_of(path) as draft:
        with refused(path):
            for folder in (draft, *(draft / name for name in inside)):
                file_calls.files.mkdir(folder, FOR_OTHERS_TOO)
        yield draft


@contextmanager
def new_file(path: Path) -> Iterator[NewFile]:
    """A file to be filled, which becomes `path` when the block ends well; else nothing is left.

    Others may read it, as the process's mask says.

    Raises
    ------
    StoreError
        If the disk refuses.
    """
    with refused(path), create_beside(path, mode=OTHERS_TOO) as file:
        yield file


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """The name beside `path` of a folder that the block makes, and that becomes `path` then.

    A death in the middle leaves a folder ``.NAME.….tmp`` there and nothing at `path`.
    """
    refuse_taken(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with refused(path):
            make_folder(path.parent)
        yield draft
        with refused(path):
            file_calls.files.rename(draft, path)  # over an empty folder, and over nothing else
            sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):  # what refused to be written may refuse to go
            delete_folder(draft)
        raise
