"""Whose memory a range of addresses is: this process's alone, or a file's that others may write."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

from nbckpt.runtime.dirty_pages.tracker import tracker_of_process

if sys.platform != "win32":
    import fcntl

_QUERY = 0xC0686611  # Linux 6.11; before, the text is read
_FORM = "9Q4I2Q"
_IS_SHARED = 8
_NAME_BYTES = 4096


class Mapping(NamedTuple):
    """One mapping of this process; `file` is None for anonymous memory."""

    start: int
    end: int
    is_shared: bool
    file: tuple[int, int, int, bytes] | None


_trusted: set[tuple[int, int, int, bytes]] = set()
_asked_for: set[tuple[int, int]] = set()


def trust_file(fd: int, address: int) -> None:
    """Take it from here on that nobody changes the bytes of a file that is mapped at `address`.

    Its private mappings can be watched then. A pack is such a file: what was written stays as it
    is. Does nothing where mappings cannot be asked for.
    """
    if tracker_of_process() is None:
        return
    about = os.fstat(fd)
    if (about.st_dev, about.st_ino) in _asked_for:
        return
    _asked_for.add((about.st_dev, about.st_ino))
    # What `fstat` says of a file need not be what the list of mappings says of it (overlayfs).
    _trusted.update(one.file for one in _mappings(address, address + 1) if one.file)


def is_private(start: int, end: int) -> tuple[bool, bool]:
    """True if only this process can change a range, and True if a trusted file is part of it."""
    at, has_file = start, False
    for mapping in _mappings(start, end):
        is_gap = mapping.start > at
        if is_gap or mapping.is_shared or (mapping.file and mapping.file not in _trusted):
            return False, has_file
        has_file = has_file or mapping.file is not None
        at = mapping.end
    return at >= end, has_file


def _mappings(start: int, end: int) -> Iterator[Mapping]:
    """The mappings that hold a range, in order; none where they cannot be asked for."""
    try:
        with open("/proc/self/maps", "rb", buffering=0) as file:  # noqa: PTH123  # no file of ours
            try:
                first = _asked(file.fileno(), start)
            except OSError:
                yield from _read(start, end)
                return
            while first:
                yield first
                if first.end >= end:
                    return
                first = _asked(file.fileno(), first.end)
    except OSError:
        return


def _asked(fd: int, address: int) -> Mapping | None:
    """The mapping at an address; None if there is none.

    Raises
    ------
    OSError
        If the kernel does not know the question.
    """
    name = ctypes.create_string_buffer(_NAME_BYTES)
    values = (struct.calcsize(_FORM), 0, address, *[0] * 8, _NAME_BYTES, 0)
    block = bytearray(struct.pack(_FORM, *values, ctypes.addressof(name), 0))
    try:
        fcntl.ioctl(fd, _QUERY, block)
    except FileNotFoundError:
        return None
    _, _, _, start, end, flags, _, _, inode, major, minor, *_ = struct.unpack(_FORM, block)
    file = (major, minor, inode, name.value) if inode else None
    return Mapping(start, end, bool(flags & _IS_SHARED), file)


def _read(start: int, end: int) -> Iterator[Mapping]:
    """The same, from the text that every kernel writes."""
    with open("/proc/self/maps", "rb") as lines:  # noqa: PTH123
        for line in lines:
            place, mode, _, device, inode, *rest = line.rstrip(b"\n").split(None, 5)
            low, high = (int(part, 16) for part in place.split(b"-"))
            if high <= start or low >= end:
                continue
            major, minor = (int(part, 16) for part in device.split(b":"))
            name = rest[0] if rest else b""
            file = (major, minor, int(inode), name) if int(inode) else None
            yield Mapping(low, high, mode[3:4] == b"s", file)
