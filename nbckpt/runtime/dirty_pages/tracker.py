"""Written pages of this process: userfaultfd and PAGEMAP_SCAN, Linux 6.7 and newer.

References
----------
.. [1] https://docs.kernel.org/admin-guide/mm/userfaultfd.html, "Write Protect Notifications"
.. [2] https://docs.kernel.org/admin-guide/mm/pagemap.html, "Pagemap Scan IOCTL"
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

if sys.platform != "win32":
    import fcntl

PAGE_BYTES = mmap.PAGESIZE
SWITCH = "NBCKPT_PAGES"
"""The environment variable that turns this off with the value ``off``."""

Ranges: TypeAlias = list[tuple[int, int]]
"""Addresses: begin and end of each range."""

_USERFAULTFD = {"x86_64": 323, "aarch64": 282}
_USER_MODE_ONLY = 1  # the flag with which no privilege is needed
_API, _REGISTER, _UNREGISTER, _PROTECT = 0xC018AA3F, 0xC020AA00, 0x8010AA01, 0xC018AA06
_FEATURES = 1 << 0 | 1 << 13 | 1 << 15  # write protection; of pages not yet there; asynchronous
_WRITE_PROTECTED = 2
_SCAN = 0xC0606610
_SCAN_REPROTECTS, _SCAN_DEMANDS_TRACKING = 1, 2
_IS_WRITTEN, _IS_FILE, _IS_PRESENT = 1 << 1, 1 << 2, 1 << 3
_N_RANGES = 4096
_UNTRACKED = {errno.EPERM, errno.EINVAL, errno.EBUSY, errno.ENOMEM, errno.ENOENT, errno.EFAULT}


class Tracker:
    """The write protection of this process's pages.

    All addresses are those of whole pages. Not for two threads at once.

    Raises
    ------
    OSError
        If the kernel does not know how, or does not permit it.
    """

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        flags = os.O_CLOEXEC | os.O_NONBLOCK | _USER_MODE_ONLY
        self._fault_fd = libc.syscall(_USERFAULTFD[os.uname().machine], flags)
        if self._fault_fd < 0:
            raise OSError(ctypes.get_errno(), "userfaultfd")
        try:
            _call(self._fault_fd, _API, "3Q", 0xAA, _FEATURES, 0)
            self._pagemap_fd = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self._fault_fd)
            raise
        self._found = (ctypes.c_uint64 * (3 * _N_RANGES))()

    def close(self) -> None:
        """Give up all tracking; the pages are as they were."""
        for fd, kind in ((self._fault_fd, "[userfaultfd]"), (self._pagemap_fd, "/pagemap")):
            with suppress(OSError):  # a program closed them, and the numbers may be its own now
                if str(Path(f"/proc/self/fd/{fd}").readlink()).endswith(kind):
                    os.close(fd)

    def arm(self, start: int, end: int) -> bool:
        """Track a range from now on, all of it unwritten; False if the kernel does not."""
        try:
            _call(self._fault_fd, _REGISTER, "4Q", start, end - start, _WRITE_PROTECTED, 0)
            _call(self._fault_fd, _PROTECT, "3Q", start, end - start, 1)
        except OSError as error:
            if error.errno not in _UNTRACKED:
                raise
            return False
        return True

    def disarm(self, start: int, end: int) -> None:
        """Track a range no longer; its next writes cost nothing."""
        try:
            _call(self._fault_fd, _UNREGISTER, "2Q", start, end - start)
        except OSError as error:  # the memory may be gone, or be somebody else's
            if error.errno not in _UNTRACKED:
                raise

    def take_written(self, start: int, end: int, most: int = 0) -> Ranges | None:
        """Ranges written since the range was armed or last asked about; counting starts again.

        A page that was dropped, and reads as zeros again, counts as written.

        Parameters
        ----------
        start, end
            The range.
        most
            Number of written pages after which to stop; 0 for all.

        Returns
        -------
        list of (begin, end), or None
            None if part of the range is not tracked; then nothing is known of it.
        """
        # Exactly this mask: the kernel tells dropped pages only to those who ask for nothing else.
        flags = _SCAN_REPROTECTS | _SCAN_DEMANDS_TRACKING
        try:
            return self._scan(start, end, flags, 0, _IS_WRITTEN, most)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
            return None

    def copied(self, start: int, end: int) -> Ranges:
        """The pages of a private file mapping that are no longer the file's."""
        return self._scan(start, end, 0, _IS_FILE, _IS_FILE | _IS_PRESENT, 0)

    def _scan(
        self, start: int, end: int, flags: int, inverted: int, mask: int, most: int
    ) -> Ranges:
        ranges: Ranges = []
        place, size = ctypes.addressof(self._found), 12 * 8
        n_left = most
        while start < end:
            answer, n = _call(
                self._pagemap_fd, _SCAN, "12Q",
                size, flags, start, end, 0, place, _N_RANGES, n_left, inverted, mask, 0, mask,
            )  # fmt: skip
            found = self._found
            ranges += zip(found[0 : 3 * n : 3], found[1 : 3 * n : 3], strict=True)
            start = answer[4]
            if most:
                n_left = most - n_pages(ranges)
                if n_left <= 0:
                    break
        return ranges


def _call(fd: int, request: int, form: str, *values: int) -> tuple[tuple[Any, ...], int]:
    """The structure as the kernel left it, and what the call returned."""
    block = bytearray(struct.pack(form, *values))
    result = fcntl.ioctl(fd, request, block)
    return struct.unpack(form, block), result


def _made() -> Tracker | None:
    """A tracker that was seen to work; None where it is not permitted, or switched off."""
    if os.environ.get(SWITCH, "").lower() == "off" or sys.platform != "linux":
        return None
    if os.uname().machine not in _USERFAULTFD or sys.maxsize < 1 << 32:
        return None
    try:
        tracker = Tracker()
    except OSError:
        return None
    with suppress(OSError):
        if _sees_writes(tracker):
            return tracker
    tracker.close()
    return None


def _sees_writes(tracker: Tracker) -> bool:
    """True if the kernel keeps the promises that names of memory rest on."""
    size = 4 << 20
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory[0], memory[size - 1] = 1, 1
        cell = ctypes.c_char.from_buffer(memory)
        start = ctypes.addressof(cell)
        del cell  # which keeps the mapping from being closed
        if not tracker.arm(start, start + size):
            return False
        nothing = tracker.take_written(start, start + size)
        memory[size // 2] = 1
        page = start + size // 2
        one = tracker.take_written(start, start + size) or []
        memory.madvise(mmap.MADV_DONTNEED)
        dropped = tracker.take_written(start, start + size) or []
        is_one_seen = any(begin <= page < end for begin, end in one)
        return nothing == [] and is_one_seen and n_pages(dropped) * PAGE_BYTES == size


def n_pages(ranges: Ranges) -> int:
    """Number of pages in `ranges`."""
    return sum(end - begin for begin, end in ranges) // PAGE_BYTES


class _Process:
    """The tracker of this process, made when it is first asked for."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tracker: Tracker | None = None
        self.is_probed = False

    def begin_anew(self) -> None:
        """In the child of a fork: the descriptors speak of the parent's memory."""
        self.lock = threading.Lock()
        if self.tracker:
            self.tracker.close()
        self.tracker, self.is_probed = None, False


_process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.begin_anew)


def tracker_of_process() -> Tracker | None:
    """The tracker of this process; None where there is none."""
    if not _process.is_probed:
        with _process.lock:
            if not _process.is_probed:
                _process.tracker = _made()
                _process.is_probed = True
    return _process.tracker


def give_up() -> None:
    """Track nothing in this process any more: the kernel's answers made no sense."""
    with _process.lock:
        _process.tracker, _process.is_probed = None, True
