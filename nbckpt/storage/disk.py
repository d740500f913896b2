"""What the store asks of the file system, and how its refusals read.

Only here are files made, synced and named in errors; the rest of `nbckpt.storage` writes bytes at
offsets of files that it was given.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.errors import StoreError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def refusal(error: OSError, path: Path, wanted_bytes: int | None = None) -> StoreError:
    """The error to raise when the disk refused to write `wanted_bytes` at `path`."""
    if error.errno in FULL:
        wanted = "" if wanted_bytes is None else f" of {wanted_bytes:,} bytes"
        return StoreError(
            f"the disk is full: a write{wanted} to {path} was refused;"
            " make room, then go on: nothing that was durable is lost"
        )
    if error.errno in FORBIDDEN:
        return StoreError(
            f"{path} cannot be written: {_reason(error)};"
            " make it writable, or name another store with NBCKPT_STORE"
        )
    return StoreError(f"{path} cannot be written: {_reason(error)}")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@contextmanager
def refused(path: Path, wanted_bytes: int | None = None) -> Iterator[None]:
    """Turn what the disk refuses inside the block into a `StoreError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path, wanted_bytes) from error


def create(path: Path) -> int:
    """A descriptor of the new file `path`, open for reading and writing; its folder is made too.

    The name is durable only after `sync_folder`.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o666)


def write_at(fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
    """Write all of `data`; the kernel may take it in several pieces."""
    rest = memoryview(data)
    while rest:
        done = os.pwrite(fd, rest, offset)
        rest, offset = rest[done:], offset + done


def read_at(fd: int, length: int, offset: int) -> bytes:
    """`length` bytes, or fewer where the file ends."""
    data = os.pread(fd, length, offset)
    if len(data) in (0, length):
        return data
    pieces = [data]
    done = len(data)
    while data and done < length:
        data = os.pread(fd, length - done, offset + done)
        pieces.append(data)
        done += len(data)
    return b"".join(pieces)


def sync_data(fd: int) -> None:
    """Return when the bytes of this file, and its length, survive a power cut."""
    getattr(os, "fdatasync", os.fsync)(fd)


def sync_folder(folder: Path) -> None:
    """Return when the names in this folder survive a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def digest_of_file(path: Path) -> Digest:
    """The digest of a file's bytes."""
    hasher = blake3()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            hasher.update(piece)
    return hasher.hexdigest()


@contextmanager
def create_beside(path: Path) -> Iterator[Path]:
    """An empty file to fill, which takes the name `path`, durably, when the block ends well.

    Readers see the old file or the whole new one. A crash leaves a file whose name begins with
    a dot and ends in ``.tmp``, which nothing reads.
    """
    beside = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
    fd = create(beside)
    try:
        yield beside
        os.fsync(fd)  # of the file, whoever wrote to it
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    finally:
        os.close(fd)
    sync_folder(path.parent)


def is_locked(path: Path) -> bool:
    """Whether somebody holds a lock on a file alone; where locks are unknown, as if they did.

    Raises
    ------
    OSError
        If the file cannot be opened.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(fd)
