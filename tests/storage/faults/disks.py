"""A disk of which one call goes wrong, in the place where `nbckpt.storage` asks for files."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from nbckpt.storage import file_calls
from nbckpt.storage.file_calls import Files

if TYPE_CHECKING:
    from typing_extensions import Buffer

WRITES = frozenset(
    {"create", "pwrite", "ftruncate", "fsync", "fdatasync", "rename", "unlink", "mkdir", "chmod"}
)
READS = frozenset({"open", "pread", "preadv", "fstat", "stat", "lstat", "listdir", "map_over"})
SYNCS = frozenset({"fsync", "fdatasync"})
NAMING = frozenset({"create", "rename", "unlink", "mkdir"})


@dataclass(frozen=True)
class Fault:
    """What goes wrong.

    Attributes
    ----------
    on
        The calls that count.
    error
        What the disk says; 0: nothing, the call does a part of what was asked.
    lasts
        Whether all that come after go wrong as well, until the disk is mended.
    done
        Whether the call did what was asked, and says that it did not.
    drops
        Whether a failed sync loses what was written since the last one, at once.
    dies
        Whether it is the last thing that happens: no descriptor and no lock is left.
    """

    name: str
    on: frozenset[str]
    error: int
    lasts: bool = False
    done: bool = False
    drops: bool = False
    dies: bool = False

    def __str__(self) -> str:
        return self.name


REFUSALS = [
    Fault(errno.errorcode[error], WRITES, error)
    for error in (
        *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.ESTALE),
        *(errno.EINTR, errno.ENOMEM, errno.EMFILE),
    )
]
FAULTS = [
    *REFUSALS,
    Fault("full from here on", WRITES, errno.ENOSPC, lasts=True),
    Fault("read-only from here on", WRITES, errno.EROFS, lasts=True),
    Fault("gone from here on", WRITES | READS, errno.EIO, lasts=True),
    Fault("short write", frozenset({"pwrite"}), 0),
    Fault("short writes from here on", frozenset({"pwrite"}), 0, lasts=True),
    Fault("sync fails", SYNCS, errno.EIO),
    Fault("sync fails and drops pages", SYNCS, errno.EIO, drops=True),
    Fault("syncs fail from here on and drop pages", SYNCS, errno.EIO, drops=True, lasts=True),
    Fault("done, and said to be refused", NAMING | SYNCS, errno.EIO, done=True),
    Fault("last thing that happens", WRITES, errno.EIO, lasts=True, dies=True),
    Fault("read EIO", READS, errno.EIO),
    Fault("read ESTALE", READS, errno.ESTALE),
    Fault("read EACCES", READS, errno.EACCES),
    Fault("read ENOMEM", READS, errno.ENOMEM),
    Fault("read EIO from here on", READS, errno.EIO, lasts=True),
]
NO_LOCKS = Fault("no locks", frozenset({"flock"}), errno.ENOLCK, lasts=True)


class Disk(Files):
    """The file system, with one fault in it when it is armed.

    Attributes
    ----------
    calls
        How many calls there were, by the fault's kind, since it was armed.
    hit
        Which call went wrong first; empty if none did.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.hit = ""
        self._fault: Fault | None = None
        self._at = 0
        self._is_dead = False
        self._lock = threading.RLock()
        self._open: set[int] = set()
        self._unsynced: dict[int, list[tuple[int, bytes, int]]] = {}

    def arm(self, fault: Fault, at: int) -> None:
        """Have the call number `at` from now on go wrong, counted from 0."""
        with self._lock:
            self._fault, self._at, self.calls, self.hit = fault, at, 0, ""

    def mend(self) -> None:
        """Have nothing go wrong any more; what is dead stays so."""
        with self._lock:
            self._fault = None

    def _ask(self, call: str, path: object = "") -> bool:
        """Whether the call is to be done, and to be refused after."""
        with self._lock:
            if self._is_dead:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            fault = self._fault
            if fault is None or call not in fault.on:
                return False
            number, self.calls = self.calls, self.calls + 1
            if number != self._at and not (fault.lasts and number > self._at):
                return False
            self.hit = self.hit or call
            if fault.dies:
                self._die()
            if fault.error and not (fault.done or fault.drops):
                self._refuse(path)
            return True

    def _refuse(self, path: object = "") -> NoReturn:
        assert self._fault is not None
        raise OSError(self._fault.error, os.strerror(self._fault.error), str(path))

    def _die(self) -> None:
        self._is_dead = True
        for fd in self._open:
            os.close(fd)
        self._open.clear()

    # -- files

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        makes = bool(flags & os.O_CREAT) and not path.exists()
        refused = self._ask("create" if makes else "open", path)
        fd = super().open(path, flags, mode)
        if refused:
            os.close(fd)
            self._refuse(path)
        with self._lock:
            self._open.add(fd)
        return fd

    def close(self, fd: int) -> None:
        with self._lock:
            if fd in self._open:
                self._open.remove(fd)
                super().close(fd)

    def dup(self, fd: int) -> int:
        other = super().dup(fd)
        with self._lock:
            self._open.add(other)
        return other

    def pread(self, fd: int, length: int, offset: int) -> bytes:
        self._ask("pread")
        return super().pread(fd, length, offset)

    def preadv(self, fd: int, memory: memoryview, offset: int) -> int:
        self._ask("preadv")
        return super().preadv(fd, memory, offset)

    def pwrite(self, fd: int, data: Buffer, offset: int) -> int:
        short = self._ask("pwrite")
        data = memoryview(data).cast("B")
        if short and len(data) > 1:
            data = data[: len(data) // 2]
        with self._lock:
            size = os.fstat(fd).st_size
            before = os.pread(fd, len(data), offset) if offset < size else b""
            self._unsynced.setdefault(os.fstat(fd).st_ino, []).append((offset, before, size))
        return super().pwrite(fd, data, offset)

    def ftruncate(self, fd: int, length: int) -> None:
        self._ask("ftruncate")
        super().ftruncate(fd, length)

    def fsync(self, fd: int) -> None:
        self._sync("fsync", fd)

    def fdatasync(self, fd: int) -> None:
        self._sync("fdatasync", fd)

    def _sync(self, call: str, fd: int) -> None:
        refused = self._ask(call)
        with self._lock:
            written = self._unsynced.pop(os.fstat(fd).st_ino, [])
        if refused and self._fault is not None and self._fault.drops:
            for offset, before, size in reversed(written):
                os.pwrite(fd, before, offset)
                os.ftruncate(fd, size)
        if refused:
            self._refuse()
        # No disk is asked: a test's machine is not going to lose its power.

    def fstat(self, fd: int) -> os.stat_result:
        self._ask("fstat")
        return super().fstat(fd)

    def stat(self, path: Path) -> os.stat_result:
        self._ask("stat", path)
        return super().stat(path)

    def lstat(self, path: Path) -> os.stat_result:
        self._ask("lstat", path)
        return super().lstat(path)

    def listdir(self, folder: Path) -> list[str]:
        self._ask("listdir", folder)
        return super().listdir(folder)

    def mkdir(self, path: Path, mode: int = 0o700) -> None:
        self._naming("mkdir", path, lambda: Files.mkdir(self, path, mode))

    def chmod(self, path: Path, mode: int) -> None:
        self._ask("chmod", path)
        super().chmod(path, mode)

    def rename(self, path: Path, target: Path) -> None:
        self._naming("rename", path, lambda: Files.rename(self, path, target))

    def unlink(self, path: Path) -> None:
        self._naming("unlink", path, lambda: Files.unlink(self, path))

    def _naming(self, call: str, path: Path, do: Any) -> None:
        refused = self._ask(call, path)
        do()
        if refused:
            self._refuse(path)

    def flock(self, fd: int, operation: int) -> None:
        if self._is_dead and operation == fcntl.LOCK_UN:
            return
        self._ask("flock")
        super().flock(fd, operation)

    def map_over(self, address: int, length: int, fd: int, offset: int) -> bool:
        self._ask("map_over")
        return super().map_over(address, length, fd, offset)


@contextmanager
def in_place(disk: Files) -> Iterator[None]:
    """Within the block the storage asks `disk`."""
    before, file_calls.files = file_calls.files, disk
    try:
        yield
    finally:
        file_calls.files = before
