"""Check that a Parquet file is the one that was written, which Parquet itself does not do.

A flipped bit in a column is another number to every reader of Parquet, so none is asked before all
bytes of a file are known to be right.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from nbckpt.digests import Digest
from nbckpt.model import Record
from nbckpt.storage import file_calls
from nbckpt.storage.disk import digest_of_file, reread, unreadable


class _Seen(NamedTuple):
    """A file as it was when it was read; one that was written since is another one."""

    path: Path
    inode: int
    size: int
    changed_at_ns: int


def is_whole(folder: Path, record: Record) -> bool:
    """True if the file of a `table` record is there, with the bytes that were written.

    Its bytes are read the first time, and again when the file has changed.

    Raises
    ------
    StoreError
        If it cannot be read.
    """
    path = folder / record["file"]
    try:
        return reread(partial(_digest_at, path)) == record.get("file_digest")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise unreadable(error, path) from error


def _digest_at(path: Path) -> Digest:
    status = file_calls.files.lstat(path)
    return _digest_of(_Seen(path, status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(1024)
def _digest_of(seen: _Seen) -> Digest:
    return digest_of_file(seen.path)
