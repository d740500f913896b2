"""Bring ranges of files into one piece of memory: mapped copy-on-write, else read.

Notes
-----
A part whose chunks lie in several packs is still mapped as one range: an anonymous mapping
reserves the addresses and each run is mapped over its share with ``MAP_FIXED``. Python's `mmap`
has no such flag, and duplicates a descriptor for every mapping, of which a process has few; so
`file_calls` calls the C library. Where it cannot (another system, too many runs), the bytes are
read.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from typing import NamedTuple

from nbckpt.runtime.dirty_pages.mappings import trust_file
from nbckpt.storage import file_calls
from nbckpt.storage.packs import MAPPED_BYTES, PAGE_BYTES

MAX_RUNS = 1024  # of 65,530 mappings that Linux allows a process


ZEROS_FD = -1
"""In place of a file: a run of zeros."""


class Run(NamedTuple):
    """A range of a file."""

    fd: int
    offset: int
    length: int


def join_runs(runs: Sequence[Run]) -> list[Run]:
    """The same ranges, those that follow each other on disk made one."""
    joined: list[Run] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last and _follows(last, run):
            joined[-1] = last._replace(length=last.length + run.length)
        else:
            joined.append(run)
    return joined


def _follows(last: Run, run: Run) -> bool:
    if last.fd != run.fd:
        return False
    return run.fd == ZEROS_FD or last.offset + last.length == run.offset


def gather(runs: Sequence[Run]) -> memoryview:
    """The bytes of `runs` in one writable piece of memory; the files stay as they are.

    Raises
    ------
    OSError
        If a file cannot be read.
    EOFError
        If it ends before its range does. Asked first, because touching a page that is mapped
        past the end of its file kills the process.
    """
    runs = join_runs(runs)
    for run in runs:
        if run.fd != ZEROS_FD and file_calls.files.fstat(run.fd).st_size < run.offset + run.length:
            raise EOFError(run.offset)
    size = sum(run.length for run in runs)
    if size < MAPPED_BYTES:
        return _read(runs, memoryview(bytearray(size)))
    mapped = _mapped(runs, size) if can_map(runs) else None
    return mapped or _read(runs, memoryview(_anonymous(size)))


def new_memory(size: int) -> memoryview:
    """Writable memory that is all zeros."""
    return memoryview(_anonymous(size) if size >= MAPPED_BYTES else bytearray(size))


def _anonymous(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _read(runs: Sequence[Run], memory: memoryview) -> memoryview:
    rest = memory
    for run in runs:
        done = run.length if run.fd == ZEROS_FD else 0  # what is new is zero
        while done < run.length:
            count = file_calls.files.preadv(run.fd, rest[done : run.length], run.offset + done)
            if count == 0:
                raise EOFError(run.offset)
            done += count
        rest = rest[run.length :]
    return memory


def can_map(runs: Sequence[Run]) -> bool:
    """True if these runs, joined, can be mapped into one range."""
    if not file_calls.can_map_over() or len(runs) > MAX_RUNS or mmap.PAGESIZE > PAGE_BYTES:
        return False
    whole_pages = all(run.length % PAGE_BYTES == 0 for run in runs[:-1])
    return whole_pages and all(run.offset % PAGE_BYTES == 0 for run in runs if run.fd != ZEROS_FD)


def _mapped(runs: Sequence[Run], size: int) -> memoryview | None:
    """Each run mapped over its share of one range; None if the kernel refuses one.

    A range with a refused share has a hole, and is given up as a whole.
    """
    memory = _anonymous(size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for fd, offset, length in runs:
        if fd != ZEROS_FD and not file_calls.files.map_over(address, length, fd, offset):
            return None
        if fd != ZEROS_FD:
            trust_file(fd, address)  # packs are appended to, and what is in them stays
        address += length
    return memoryview(memory)
