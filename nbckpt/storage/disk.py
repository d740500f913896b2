"""The store's access to the file system, and the texts of its refusals.

All goes through `file_calls.files`. Files and folders are their owner's alone; a link that stands
in place of a file or a folder of a store is refused, and never followed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.errors import StoreError
from nbckpt.storage import file_calls

if TYPE_CHECKING:
    from typing_extensions import Buffer

T = TypeVar("T")

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
OWN = 0o600
OTHERS_TOO = 0o666
"""Of a file that belongs to no store: as the process makes files."""
PIECE_BYTES = 1 << 20


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


def unreadable(error: OSError, path: Path) -> StoreError:
    """The error to raise when the disk did not give what lies at `path`."""
    return StoreError(f"{path} cannot be read: {_reason(error)}; try again when it can")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@contextmanager
def refused(path: Path, wanted_bytes: int | None = None) -> Iterator[None]:
    """Turn what the disk refuses inside the block into a `StoreError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path, wanted_bytes) from error


# -- names


def exists(path: Path) -> bool:
    """True if anything has this name."""
    try:
        file_calls.files.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def list_folder(folder: Path) -> list[str]:
    """The names in a folder, sorted; none if it is not there."""
    try:
        return sorted(file_calls.files.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def files_in(folder: Path, suffix: str) -> list[Path]:
    """The files in a folder that have their name, and whose name ends so, sorted."""
    names = list_folder(folder)
    return [folder / name for name in names if name.endswith(suffix) and name[0] != "."]


def unfinished_in(folder: Path) -> list[Path]:
    """The files in a folder that have not their name yet, or not any more."""
    return [
        folder / name for name in list_folder(folder) if name[0] == "." and name.endswith(".tmp")
    ]


def make_folder(path: Path, *, durable: bool = False) -> None:
    """Have a folder there, and those that it is in, whose names survive a power cut.

    Its own name does if `durable`; else whoever makes several syncs their folder once.
    """
    try:
        _make_one(path, durable=durable)
    except FileNotFoundError:
        make_folder(path.parent, durable=True)
        _make_one(path, durable=durable)  # once: some folders, as /proc, take no others


def _make_one(path: Path, *, durable: bool) -> None:
    try:
        file_calls.files.mkdir(path)
        if durable:
            sync_folder(path.parent)
    except FileExistsError:
        if not stat.S_ISDIR(file_calls.files.stat(path).st_mode):
            raise


def delete(path: Path) -> None:
    """Take a file's name away, if it is there."""
    with suppress(FileNotFoundError):
        file_calls.files.unlink(path)


def delete_folder(path: Path) -> None:
    """Take a folder away with all that is in it, if it is there; what links lead to stays."""
    for name in list_folder(path):
        inner = path / name
        if stat.S_ISDIR(file_calls.files.lstat(inner).st_mode):
            delete_folder(inner)
        else:
            delete(inner)
    with suppress(FileNotFoundError):
        file_calls.files.rmdir(path)


# -- files


def create(path: Path, *, mode: int = OWN) -> int:
    """A descriptor of the new file `path`, open for reading and writing; its folder is made too.

    The name is durable only after `sync_folder`.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    try:
        return _open(path, flags, mode)
    except FileNotFoundError:
        make_folder(path.parent, durable=True)
        return _open(path, flags, mode)


def open_to_read(path: Path) -> int:
    """A descriptor of a file, for reading.

    Raises
    ------
    OSError
        If it is not there, or no plain file: a pipe would have its readers wait for ever.
    """
    fd = _open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(file_calls.files.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
    except BaseException:
        file_calls.files.close(fd)
        raise
    return fd


def require_plain(path: Path) -> None:
    """Raise where somebody else is going to open a file by its name, and it is a link.

    Raises
    ------
    OSError
        If it is one, or not there.
    """
    file_calls.files.close(open_to_read(path))


def open_lock(path: Path) -> int:
    """A descriptor to lock, and to write to; the file is made if it is not there.

    Raises
    ------
    OSError
        If it is no plain file, or one of several names of a file: what is written lies there, too.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK
    try:
        fd = _open(path, flags)
    except FileNotFoundError:
        make_folder(path.parent, durable=True)
        fd = _open(path, flags)
    found = file_calls.files.fstat(fd)
    if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
        return fd
    file_calls.files.close(fd)
    message = "it is no plain file, or one with other names: delete it, and it is made anew"
    raise OSError(errno.ELOOP, message, str(path))


def _open(path: Path, flags: int, mode: int = OWN) -> int:
    try:
        return file_calls.files.open(path, flags | os.O_NOFOLLOW, mode)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        message = "it is a link, which a store does not follow"
        raise OSError(errno.ELOOP, message, str(path)) from error


@contextmanager
def reading(path: Path) -> Iterator[int]:
    """A descriptor of a file, for reading within the block."""
    fd = open_to_read(path)
    try:
        yield fd
    finally:
        file_calls.files.close(fd)


def read_whole(path: Path, most: int | None = None) -> bytes:
    """All bytes of a small file.

    Raises
    ------
    OSError
        If it cannot be read, or holds more than `most` bytes, which may be more than fit in memory.
    """

    def read() -> bytes:
        with reading(path) as fd:
            if most is not None and file_calls.files.fstat(fd).st_size > most:
                message = f"it holds more than {most:,} bytes, as no such file does"
                raise OSError(errno.EINVAL, message, str(path))
            return b"".join(_pieces(fd))

    return reread(read)


def write_at(fd: int, data: Buffer, offset: int) -> None:
    """Write all of `data`; the kernel may take it in several pieces."""
    rest = memoryview(data)
    while rest:
        done = file_calls.files.pwrite(fd, rest, offset)
        rest, offset = rest[done:], offset + done


def read_at(fd: int, length: int, offset: int) -> bytes:
    """`length` bytes, or fewer where the file ends."""
    data = file_calls.files.pread(fd, length, offset)
    if len(data) in (0, length):
        return data
    pieces = [data]
    done = len(data)
    while data and done < length:
        data = file_calls.files.pread(fd, length - done, offset + done)
        pieces.append(data)
        done += len(data)
    return b"".join(pieces)


def reread(read: Callable[[], T]) -> T:
    """The result of `read`; asked once more if a network file system has lost the open file."""
    try:
        return read()
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
    return read()


def _pieces(fd: int) -> Iterator[bytes]:
    """The bytes of a file from its start on."""
    at = 0
    while piece := file_calls.files.pread(fd, PIECE_BYTES, at):
        yield piece
        at += len(piece)


def require_name(fd: int, path: Path) -> None:
    """Raise where a file lost its name under its writer: nobody would read what goes into it.

    Raises
    ------
    OSError
        If it was deleted, and says what to do.
    """
    if not file_calls.files.fstat(fd).st_nlink and not exists(path):
        message = (
            "it was deleted while this session wrote to it;"
            " `%reload_ext nbckpt`, or a restart of the kernel, begins a new one"
        )
        raise FileNotFoundError(errno.ENOENT, message, str(path))


def sync_data(fd: int) -> None:
    """Return when the bytes of this file, and its length, survive a power cut."""
    file_calls.files.fdatasync(fd)


def sync_folder(folder: Path) -> None:
    """Return when the names in this folder survive a power cut."""
    fd = file_calls.files.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        file_calls.files.fsync(fd)
    finally:
        file_calls.files.close(fd)


def digest_of_file(path: Path) -> Digest:
    """The digest of a file's bytes."""
    hasher = blake3()
    with reading(path) as fd:
        for piece in _pieces(fd):
            hasher.update(piece)
    return hasher.hexdigest()


def is_locked(path: Path) -> bool:
    """True if somebody holds a lock on a file alone; where locks are unknown, as if they did.

    Raises
    ------
    OSError
        If the file cannot be opened.
    """
    with reading(path) as fd:
        try:
            file_calls.files.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        return False
