"""nbckpt's data on its user, outside of all stores: a key, and what the user vouches for.

The folder is ``NBCKPT_HOME``, else `nbckpt` in Jupyter's data folder, beside the secret that signs
notebooks. It is the user's alone; what others could have put there is not used.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nbckpt.errors import StoreError
from nbckpt.storage import file_calls
from nbckpt.storage.disk import make_folder, open_lock, read_whole
from nbckpt.storage.file_names import is_name
from nbckpt.storage.new_files import create_beside

KEY = "key"
TRUSTED = "trusted"
LOCK = "lock"
KEY_BYTES = 32
DIGEST_BYTES = 16
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def users_folder() -> Path:
    """The folder of this process's user; it need not exist.

    Raises
    ------
    RuntimeError
        If nobody can tell where this user's home is.
    """
    if own := os.environ.get("NBCKPT_HOME"):
        return Path(own).expanduser().absolute()  # as `NBCKPT_STORE`: not all is set by a shell
    return _jupyter_data() / "nbckpt"


def _jupyter_data() -> Path:
    """Where Jupyter keeps data, as it says itself: it may not be installed."""
    if named := os.environ.get("JUPYTER_DATA_DIR"):
        return Path(named).absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Jupyter"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "jupyter"


class User:
    """The user whom this process runs for.

    Attributes
    ----------
    problem
        Why there is no key, if one was asked for and there is none.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._folder: Path | None = None
        try:
            self._folder = users_folder()
        except RuntimeError:
            self.problem = "this user has no home folder"

    def key(self, *, make: bool = False) -> bytes | None:
        """The user's key; None if there is none, or it must not be used.

        Parameters
        ----------
        make
            Make one if there is none.
        """
        if self._folder is None:
            return None
        path = self._folder / KEY
        try:
            with suppress(FileNotFoundError):
                return self._read(path)
            if not make:
                return None
            make_folder(self._folder)
            with _alone(self._folder):
                if not _exists(path):  # nobody was quicker
                    with create_beside(path) as unnamed:
                        unnamed.write(f"{os.urandom(KEY_BYTES).hex()}\n".encode())
            return self._read(path)
        except OSError as error:
            self.problem = f"{path}: {_reason(error)}"
            return None

    def vouches(self, journal: str) -> frozenset[bytes]:
        """Digests of the lines of a journal that this user trusts."""
        if self._folder is None or not is_name(journal):
            return frozenset()
        try:
            if self._refuses(self._folder):
                return frozenset()
            data = read_whole(self._folder / TRUSTED / journal)
        except OSError:
            return frozenset()
        return frozenset(data[i : i + DIGEST_BYTES] for i in range(0, len(data), DIGEST_BYTES))

    def vouch(self, journal: str, digests: Iterable[bytes]) -> None:
        """Trust these lines of a journal, too, from now on.

        Raises
        ------
        StoreError
            If the folder cannot be written, or is not the user's alone.
        """
        try:
            folder = users_folder()
            make_folder(folder / TRUSTED)
            problem = self._refuses(folder)
            if not problem:
                with _alone(folder):
                    every = self.vouches(journal) | set(digests)
                    with create_beside(folder / TRUSTED / journal) as unnamed:
                        unnamed.write(b"".join(sorted(every)))
        except OSError as error:
            problem = f"{folder}: {_reason(error)}"
        except RuntimeError:
            problem = self.problem
        if problem:
            message = (
                f"whom you trust cannot be written down: {problem};"
                " set NBCKPT_HOME to a folder of yours that can be written"
            )
            raise StoreError(message)

    def vouched_as_of(self) -> tuple[int, ...]:
        """Changes whenever the user vouches for something."""
        if self._folder is None:
            return ()
        try:
            found = file_calls.files.stat(self._folder / TRUSTED)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ino

    def _read(self, path: Path) -> bytes | None:
        """The key at `path`, which others cannot read from now on.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        text = read_whole(path).strip()
        self.problem = self._refuses(path.parent) or self._refuses(path)
        with suppress(ValueError):
            if len(key := bytes.fromhex(text.decode())) == KEY_BYTES:
                return None if self.problem else key
        self.problem = self.problem or f"{path} is damaged: a key is 64 hex digits"
        return None

    def _refuses(self, path: Path) -> str:
        """Why a file or folder cannot be used; empty if it is the user's alone, now at least."""
        found = file_calls.files.stat(path)
        if found.st_uid != os.geteuid():
            return f"{path} belongs to another user"
        if found.st_mode & OTHERS:
            with suppress(OSError):
                file_calls.files.chmod(path, stat.S_IMODE(found.st_mode) & ~OTHERS)
            if file_calls.files.stat(path).st_mode & OTHERS:
                return f"{path} is open to other users"
        return ""


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _exists(path: Path) -> bool:
    try:
        file_calls.files.lstat(path)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While no other process of the user is in such a block, where locks are known."""
    fd = open_lock(folder / LOCK)
    try:
        with suppress(OSError):
            file_calls.files.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        file_calls.files.close(fd)
