"""Locks between those who write a store and the one who prunes it; nobody else waits for anybody.

Whoever writes holds `writing` in common while a record that it is going to write may rely on
bytes that are there: from the first look of a capture until the commit. A prune takes it alone for
the milliseconds in which files get and lose their names. The file holds a token that each prune
changes, so that a writer sees at once that it has to look anew.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.runtime.interrupts import breathe
from nbckpt.storage import file_calls
from nbckpt.storage.disk import open_lock

FOLDER = "locks"
WRITING = "writing"
TURN = "turn"
PRUNING = "pruning"

TOKEN_BYTES = 8
TURN_S = 0.03
"""Most seconds that arriving writers wait while a prune waits for those that are there."""
PAUSE_S = 0.02
PIECE_S = 0.0005


TEMPORARY = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ELOOP, errno.ESTALE}
)
"""Refusals of a lock that say nothing of whether the store can be written."""


class Holds:
    """Keeps prunes away while this process relies on what is in the store.

    Parameters
    ----------
    pruned
        Called, before anything is relied on, when somebody pruned since the last time.
    """

    def __init__(self, path: Path, pruned: Callable[[], None]) -> None:
        self._folder = path / FOLDER
        self._pruned = pruned
        self._mutex = threading.RLock()
        self._count = 0
        self._owes = False
        self._is_held_on = False
        self._is_shared = False  # whether the lock is ours now
        self._fds: dict[str, int] = {}
        self._token: bytes | None = None

    # -- writers

    def enter(self) -> None:
        """Hold, once more; waits while a prune gives and takes names.

        On a disk that takes no new file nothing is locked, and nothing can be written.
        """
        with self._mutex:
            if not self._is_shared:
                self._share_if_writable()
            self._count += 1

    def exit(self, times: int = 1) -> None:
        """Hold once less, or so many times."""
        with self._mutex:
            self._count -= times
            try:
                self._let_go()
            except MemoryError:  # the next that holds no more lets go
                return

    def hold_on(self) -> None:
        """Hold once more, until somebody takes that over."""
        with self._mutex:
            if not self._is_held_on:
                self.enter()
                self._is_held_on = True

    def take_over(self) -> int:
        """Take over what was held on to; return the number of exits that the caller owes for it."""
        with self._mutex:
            was_held_on, self._is_held_on = self._is_held_on, False
            return int(was_held_on)

    def owe(self, *, owes: bool) -> None:
        """Hold as long as there are records that the disk refused: they will be tried again."""
        with self._mutex:
            self._owes = owes
            self._let_go()

    def close(self) -> None:
        """Let go of everything; in a forked child the parent's holds stay."""
        self._mutex = threading.RLock()  # another thread may have had it when this one was forked
        fds, self._fds = self._fds, {}
        self._is_shared = False
        for fd in fds.values():
            file_calls.files.close(fd)

    def _share_if_writable(self) -> None:
        try:
            self._share()
        except OSError as error:
            # Others refuse the writing, too, or every prune: here one could write beside a prune.
            if error.errno in TEMPORARY:
                message = f"{self._folder} cannot be locked: {error.strerror}"
                raise StoreError(message) from error

    def _share(self) -> None:
        turn, writing = self._open(TURN), self._open(WRITING)
        try:
            file_calls.files.flock(turn, fcntl.LOCK_SH)
            file_calls.files.flock(writing, fcntl.LOCK_SH)
        except BaseException:
            file_calls.files.flock(writing, fcntl.LOCK_UN)
            raise
        finally:
            file_calls.files.flock(turn, fcntl.LOCK_UN)
        self._is_shared = True
        token, before = file_calls.files.pread(writing, TOKEN_BYTES, 0), self._token
        if token != before:
            self._pruned()
            self._token = token

    def _let_go(self) -> None:
        if self._count or self._owes or not self._is_shared:
            return
        file_calls.files.flock(self._fds[WRITING], fcntl.LOCK_UN)
        self._is_shared = False

    def _open(self, name: str) -> int:
        fd = self._fds.get(name)
        if fd is not None and file_calls.files.fstat(fd).st_nlink:
            return fd
        if fd is not None:  # somebody deleted the file: a lock on it would be seen by nobody
            del self._fds[name]
            self._is_shared = False
            file_calls.files.close(fd)
        self._fds[name] = fd = open_lock(self._folder / name)
        return fd

    # -- the one who prunes

    @contextmanager
    def alone(self, wait_s: float) -> Iterator[bool]:
        """Keep all writers out; False if there was always one in the way for `wait_s` seconds.

        Threads of this process that want to hold wait as well.
        """
        deadline = time.monotonic() + wait_s
        while True:
            with self._mutex:
                if self._count == 0 and self._take():
                    try:
                        yield True
                    finally:
                        self._give_back()
                    return
            if time.monotonic() > deadline:
                break
            breathe()
            time.sleep(PAUSE_S)
        yield False

    def stamp(self) -> None:
        """Have all writers look anew when they hold next. For the one who is alone."""
        file_calls.files.pwrite(self._fds[WRITING], os.urandom(TOKEN_BYTES), 0)

    def _take(self) -> bool:
        turn, writing = self._open(TURN), self._open(WRITING)
        until = time.monotonic() + TURN_S
        has_turn = has_all = False
        try:
            while not has_all and time.monotonic() < until:
                has_turn = has_turn or try_lock(turn)
                has_all = has_turn and try_lock(writing)
                if not has_all:
                    time.sleep(PIECE_S)
        finally:
            file_calls.files.flock(turn, fcntl.LOCK_UN)
            self._is_shared = False
            if not has_all:
                self._share_again()
        return has_all

    def _give_back(self) -> None:
        if not self._share_again():
            file_calls.files.flock(self._fds[WRITING], fcntl.LOCK_UN)

    def _share_again(self) -> bool:
        """Hold as before, if records are owed: a try to be alone lost that."""
        if self._owes:
            file_calls.files.flock(self._fds[WRITING], fcntl.LOCK_SH)
            self._is_shared = True
        return self._owes


def try_lock(fd: int) -> bool:
    """Lock for oneself; False if somebody else has it.

    Raises
    ------
    OSError
        If the file system knows no locks.
    """
    try:
        file_calls.files.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """The block runs in one process at once.

    Raises
    ------
    StoreError
        If another is in it, or nobody can tell, because the file system knows no locks.
    OSError
        If the disk refuses.
    """
    fd = open_lock(path / FOLDER / PRUNING)
    try:
        try:
            is_free = try_lock(fd)
        except OSError as error:
            message = (
                f"the file system that holds {path} knows no locks, so nobody can tell who uses"
                " the store: move it to another one, and prune it there"
            )
            raise StoreError(message) from error
        if not is_free:
            message = f"another prune of {path} is at work; wait for it"
            raise StoreError(message)
        yield
    finally:
        file_calls.files.close(fd)
