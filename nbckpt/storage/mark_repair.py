"""The mark of a store, `format.json`, written anew where it is lost: nothing opens without it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from nbckpt.errors import FormatError, StoreError
from nbckpt.runtime import clock
from nbckpt.storage import file_calls
from nbckpt.storage.disk import exists, files_in, make_folder, read_at, reading, refused
from nbckpt.storage.folder import (
    ASIDE,
    COPY,
    FORMAT,
    MARK,
    VERSION,
    Mark,
    former_store,
    read_mark,
    refuse_former,
    write_mark,
)
from nbckpt.storage.journal import SUFFIX as JOURNAL
from nbckpt.storage.packs import FORMER_MAGIC
from nbckpt.storage.packs import SUFFIX as PACK
from nbckpt.storage.private_folder import require_no_links
from nbckpt.storage.unlocking import holds_sealed
from nbckpt.storage.writer import new_name


def mend_mark(path: Path) -> str:
    """Write the mark of a store anew if it is gone or damaged; what was done, for people.

    Raises
    ------
    FormatError
        If the store is encrypted and its wrapped key is in no copy any more, or if it is from
        before nbckpt 1.0.
    StoreError
        If the disk refuses.
    """
    refuse_former(path)
    try:
        if read_mark(path) is not None or not _is_store(path):
            return ""
    except FormatError:
        pass
    _refuse_former_packs(path)
    mark = _copied(path)
    if mark is None and holds_sealed(path):
        message = (
            f"{path / MARK} is lost, and with it the wrapped key of an encrypted store: put a copy"
            " of that file back"
        )
        raise FormatError(message)
    with refused(path / MARK):
        if exists(path / MARK):
            require_no_links(path, (ASIDE,))
            aside = path / ASIDE / new_name(clock.now())
            make_folder(aside)
            file_calls.files.rename(path / MARK, aside / MARK)
        write_mark(path, mark or {VERSION: FORMAT})
    return f"{MARK}: written anew"


def _is_store(path: Path) -> bool:
    """True if a folder without a mark holds what only stores do."""
    return bool(files_in(path / "journal", JOURNAL) or files_in(path / "packs", PACK))


def _refuse_former_packs(path: Path) -> None:
    """Raise if a store whose mark is lost is from before nbckpt 1.0, as its packs say.

    Raises
    ------
    FormatError
        If it is: with a mark written anew it would pass for a store of this format.
    """
    for pack in files_in(path / "packs", PACK):
        with suppress(OSError), reading(pack) as fd:  # the check tells of one that cannot be read
            if read_at(fd, len(FORMER_MAGIC), 0) == FORMER_MAGIC:
                raise former_store(path)


def _copied(path: Path) -> Mark | None:
    try:
        return read_mark(path, COPY)
    except (FormatError, StoreError):
        return None
