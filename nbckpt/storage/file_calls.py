"""Every call of `nbckpt.storage` that goes to the file system, on one object.

Tests put another in its place that refuses, forgets, or keeps a log of what was asked.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAP_PRIVATE = 0x02
MAP_FIXED = 0x10
AT_FDCWD = -100
SWAP = 2
"""Both Linux and macOS call it so."""


class Files:
    """File operations of the operating system; each raises `OSError` as the system does.

    Descriptors are those of the process. None of them outlives an `exec`.
    """

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        """A descriptor."""
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, fd: int) -> None:
        """Let go of a descriptor."""
        os.close(fd)

    def dup(self, fd: int) -> int:
        """Another descriptor of what is open."""
        return os.dup(fd)

    def dup2(self, fd: int, other: int) -> None:
        """Have `other` be a descriptor of what `fd` is."""
        os.dup2(fd, other, inheritable=False)

    def pread(self, fd: int, length: int, offset: int) -> bytes:
        """At most `length` bytes; none where the file ends."""
        return os.pread(fd, length, offset)

    def preadv(self, fd: int, memory: memoryview, offset: int) -> int:
        """Number of bytes read into `memory`; 0 at the end of the file."""
        return os.preadv(fd, [memory], offset)

    def pwrite(self, fd: int, data: Buffer, offset: int) -> int:
        """Number of bytes written."""
        return os.pwrite(fd, data, offset)

    def ftruncate(self, fd: int, length: int) -> None:
        """Cut a file, or have it end in zeros."""
        os.ftruncate(fd, length)

    def fsync(self, fd: int) -> None:
        """Return when the bytes of a file, or the names in a folder, survive a power cut."""
        os.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        """Return when the bytes of a file, and its length, survive a power cut."""
        getattr(os, "fdatasync", os.fsync)(fd)

    def fstat(self, fd: int) -> os.stat_result:
        """Status of an open file."""
        return os.fstat(fd)

    def stat(self, path: Path) -> os.stat_result:
        """Status of a file; of a link, that of its target."""
        return path.stat()

    def lstat(self, path: Path) -> os.stat_result:
        """Status of a file, or of a link itself."""
        return path.lstat()

    def statvfs(self, path: Path) -> os.statvfs_result:
        """Status of the file system that holds a path."""
        return os.statvfs(path)

    def listdir(self, folder: Path) -> list[str]:
        """The names in a folder."""
        return os.listdir(folder)  # noqa: PTH208 - names, of which paths are made by few

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        """Make a folder."""
        path.mkdir(mode)

    def chmod(self, path: Path, mode: int) -> None:
        """Say who may read and write a file."""
        path.chmod(mode)

    def rename(self, path: Path, target: Path) -> None:
        """Give a file another name, in place of the file that has it."""
        path.replace(target)

    def exchange(self, path: Path, other: Path) -> None:
        """Have two files or folders swap their names, at one instant."""
        libc = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(path), os.fsencode(other)
        if hasattr(libc, "renameat2"):
            failed = libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], SWAP)
        elif hasattr(libc, "renamex_np"):
            failed = libc.renamex_np(*names, SWAP)
        else:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(path))
        if failed:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(path))

    def unlink(self, path: Path) -> None:
        """Take the name of a file away."""
        path.unlink()

    def rmdir(self, path: Path) -> None:
        """Take an empty folder away."""
        path.rmdir()

    def flock(self, fd: int, operation: int) -> None:
        """Lock a file, or let go of it: see `fcntl.flock`."""
        fcntl.flock(fd, operation)

    def map_over(self, address: int, length: int, fd: int, offset: int) -> bool:
        """Map a range of a file copy-on-write over memory that is mapped; whether it could."""
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        flags = MAP_PRIVATE | MAP_FIXED
        mapped: int = _libc().mmap(address, length, protection, flags, fd, offset)
        return mapped == address


files = Files()
"""The one that counts: asked anew at each call, so that another may take its place."""


def can_map_over() -> bool:
    """True if this system's way to map over memory is known."""
    return _libc() is not None


@cache
def _libc() -> Any:
    """The C library with a typed `mmap`; None where its constants are not known."""
    if sys.platform not in ("linux", "darwin") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_size_t
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
    ]
    return libc
