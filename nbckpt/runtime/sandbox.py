"""Code in a copy of this process that changes nothing outside of itself.

The copy is a fork: it has all variables, what cannot be written down included, and nothing that it
does to them is seen here. Before the code runs, what is open leads nowhere, and an audit hook
stops what Python does outside. Libraries in C do not ask Python, so the kernel forbids it, too:
Landlock (`landlock`) refuses to write, make, delete and execute files, to connect, and to send
signals. On a kernel without it no file can be opened at all. Memory that others see written, as the
locks of `multiprocessing` are, is the copy's own from then on.
"""

from __future__ import annotations

import _thread
import ctypes
import faulthandler
import gc
import io
import json
import math
import mmap
import os
import secrets
import select
import signal
import stat
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

from nbckpt.runtime import landlock

_R = TypeVar("_R")
_STARTING = ("subprocess.", "socket.", "ctypes.", "sqlite3.", "shutil.", "urllib.", "_thread.")
_ACTING = frozenset(
    {"os.system", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile",
     "os.kill", "os.killpg", "signal.pthread_kill", "os.remove", "os.rename", "os.rmdir",
     "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.utime",
     "os.setxattr",
     "os.removexattr", "os.lockf", "tempfile.mkstemp", "tempfile.mkdtemp", "mmap.__new__",
     "builtins.input"}
)  # fmt: skip
_READING = frozenset({"open", "import", "os.listdir", "os.scandir"})
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_OF_NO_DEVICE = ("/dev/shm/", "/dev/zero")
_MOST_COPIED = 64 << 20
_MAP_FIXED = 0x10

NO_FORKS = frozenset({"polars", "torch", "duckdb", "jax", "tensorflow"})
"""Libraries whose threads a fork leaves behind: calls into them may never return."""


class StoppedError(BaseException):
    """The code wanted what a copy must not do."""


def why_none() -> str:
    """Why this process cannot be copied; empty if it can be."""
    if not hasattr(os, "fork") or not Path("/proc/self/fd").is_dir():
        return "this system does not copy processes"
    try:
        _SharedMemory.all_of_this_process()
    except (OSError, ValueError):
        return "this process shares memory with others"
    return ""


@dataclass(frozen=True)
class _SharedMemory:
    """A range of memory that others see written: of a file, or made to be shared."""

    start: int
    n_bytes: int
    protection: int

    @classmethod
    def all_of_this_process(cls) -> list[_SharedMemory]:
        """All that there is.

        Raises
        ------
        ValueError
            If a copy cannot have such memory of its own: that of a device, what one writes in two
            places, or what is large.
        """
        maps = [line.split(None, 5) for line in Path("/proc/self/maps").read_text().splitlines()]
        mapped = Counter((device, inode) for _, _, _, device, inode, *_ in maps)
        found = []
        for addresses, rights, _, device, inode, *name in maps:
            if rights[1] != "w" or rights[3] != "s":
                continue
            if not _is_of_a_file(*name) or mapped[device, inode] > 1:
                raise ValueError(addresses)
            start, end = (int(address, 16) for address in addresses.split("-"))
            protection = sum(bit for bit, on in zip((1, 2, 4), rights, strict=False) if on != "-")
            found.append(cls(start, end - start, protection | mmap.PROT_READ))
        if sum(one.n_bytes for one in found) > _MOST_COPIED:
            raise ValueError(_MOST_COPIED)
        return found

    def make_private(self) -> None:
        """Put a copy of this memory in its place, which nobody else sees."""
        content = ctypes.string_at(self.start, self.n_bytes)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
        put = ctypes.CDLL(None, use_errno=True).mmap
        put.restype = ctypes.c_void_p
        put.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        if put(self.start, self.n_bytes, self.protection, flags, -1, 0) != self.start:
            raise OSError(ctypes.get_errno(), "mmap")
        ctypes.memmove(self.start, content, self.n_bytes)


def _is_of_a_file(name: str = "") -> bool:
    """True if memory has a name that is not that of a device, or of a ring of the kernel's."""
    return name.startswith("/") and (name.startswith(_OF_NO_DEVICE) or not name.startswith("/dev/"))


# -- in this process ------------------------------------------------------------------------


Say: TypeAlias = Callable[[object], None]
"""Has the other process know something, as JSON, before the work is done."""


class Told(NamedTuple):
    """The words of a copy.

    Attributes
    ----------
    answer
        The JSON that its work returned, or ``why`` there is none.
    said
        The words of the work before that.
    """

    answer: dict[str, Any]
    said: list[Any]


def in_a_copy(
    work: Callable[[Say], dict[str, Any]], timeout_s: float, most_s: float = math.inf
) -> Told:
    """Do some work in a copy of this process.

    Parameters
    ----------
    timeout_s
        Seconds from one word of the work to the next.
    most_s
        Seconds in all, however much it says.
    """
    reading, writing = os.pipe()
    mark = secrets.token_hex(8).encode()  # the work may find the pipe, and write into it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which the copy does not have
        child = os.fork()
    if child == 0:
        _be_a_copy(work, writing, mark)
    os.close(writing)
    data, has_ended = b"", False
    try:
        data, has_ended = _read_all(reading, timeout_s, time.monotonic() + most_s)
    finally:
        os.close(reading)
        _end(child, 1 if has_ended and data else 0)
    lines = (line.rpartition(mark) for line in data.split(b"\n")[:-1])
    said = [json.loads(text) for _, found, text in lines if found]
    if said and isinstance(said[-1], dict):
        return Told(said[-1], [one for (one,) in said[:-1]])
    why = "the copy died" if has_ended else "it did not end in time"
    return Told({"why": why}, [one for (one,) in said])


def _end(child: int, patience_s: float) -> None:
    """Wait for a copy, which has answered or never will."""
    until = time.monotonic() + patience_s
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.001)


def _read_all(descriptor: int, timeout_s: float, last: float) -> tuple[bytes, bool]:
    """The bytes that came, and True if these are all: a copy that is silent too long is left."""
    pieces: list[bytes] = []
    until = time.monotonic() + timeout_s
    while (left_s := min(until, last) - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left_s)[0]:
            break
        if not (piece := os.read(descriptor, 1 << 16)):
            return b"".join(pieces), True
        if b"\n" in piece:
            until = time.monotonic() + timeout_s
        pieces.append(piece)
    return b"".join(pieces), False


# -- in the copy ----------------------------------------------------------------------------


def _be_a_copy(work: Callable[[Say], dict[str, Any]], writing: int, mark: bytes) -> NoReturn:
    status = 1
    try:
        gc.disable()  # what it would end may do so outside, or belong to threads that are not here
        faulthandler.disable()  # a copy that dies is no crash of the kernel
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        for shared in _SharedMemory.all_of_this_process():
            shared.make_private()
        _cut_off(writing)
        try:
            answer = work(lambda told: _write(writing, mark, [told]))
        except StoppedError as stopped:
            answer = {"why": f"it wants {stopped}"}
        except BaseException as error:  # whatever the user's code raises
            answer = {"why": f"it raises {type(error).__name__}"}
        _write(writing, mark, answer)
        status = 0
    finally:
        os._exit(status)  # nothing of this process's is flushed, closed or finalized


def _write(descriptor: int, mark: bytes, told: object) -> None:
    data = mark + json.dumps(told).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def _cut_off(but: int) -> None:
    """Have all that is open lead nowhere, except files that are only read: these are read apart."""
    import fcntl  # not on every system, and then there are no copies

    null = os.open(os.devnull, os.O_RDWR)
    for entry in list(Path("/proc/self/fd").iterdir()):
        descriptor = int(entry.name)
        if descriptor in (but, null):
            continue
        try:
            mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
            if mode != os.O_RDONLY or not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.dup2(null, descriptor)
                continue
            own = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
            os.lseek(own, os.lseek(descriptor, 0, os.SEEK_CUR), os.SEEK_SET)
            os.dup2(own, descriptor)
            os.close(own)
        except OSError:  # it was the folder's own
            continue


def confined(function: Callable[[], _R], *, may_try: bool = False) -> _R:
    """Result of a function that can do nothing outside; only in a copy, which ends soon.

    Parameters
    ----------
    may_try
        True if an attempt to act outside does not matter, where the function went on without it.

    Raises
    ------
    StoppedError
        If it tried to.
    """
    import resource  # as above

    watch = _Watch(may_read=landlock.confine())
    sys.addaudithook(watch)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not watch.may_read:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    _start_no_threads(watch)
    watch.is_on = True
    try:
        result = function()
        if len(sys._current_frames()) > 1:  # noqa: SLF001  # also those that `threading` missed
            watch.seen = "_thread.start_new_thread"
    finally:
        watch.is_on = False
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if watch.seen and not may_try:
        raise StoppedError(watch.seen)
    return result


class _Watch:
    """Stops code that wants to act outside."""

    def __init__(self, *, may_read: bool) -> None:
        self.may_read = may_read
        self.is_on = False
        self.seen = ""

    def __call__(self, event: str, arguments: Any) -> None:
        if self.is_on and self._is_stopped(event, arguments):
            self.seen = event
            raise StoppedError(event)

    def _is_stopped(self, event: str, arguments: Any) -> bool:
        if event in _READING:
            return not self.may_read or (event == "open" and not _only_reads(*arguments))
        return event in _ACTING or event.startswith(_STARTING)


def _only_reads(path: object, _: object, flags: int) -> bool:
    """True if a file is opened to be read, and reading takes nothing from it."""
    if flags & _WRITING_FLAGS:
        return False
    try:
        mode = os.stat(path).st_mode  # type: ignore[arg-type]  # noqa: PTH116  # may be a number
    except (OSError, ValueError, TypeError):
        return True  # it is not there, and will not be
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _start_no_threads(watch: _Watch) -> None:
    """Have a thread be what is watched for: not every Python raises an event of it."""

    def start(*_: object, **__: object) -> NoReturn:
        watch("_thread.start_new_thread", ())
        raise StoppedError

    for module in (_thread, threading):
        for name in ("start_new_thread", "start_new", "start_joinable_thread"):
            for own in (name, f"_{name}"):
                if hasattr(module, own):
                    setattr(module, own, start)
