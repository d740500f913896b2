"""Pieces of memory that tests watch, and what is asked of them."""

from __future__ import annotations

import ctypes
import mmap
import random

import pytest

from nbckpt.runtime.dirty_pages.memory import digest_of_memory, look
from nbckpt.runtime.dirty_pages.tracker import tracker_of_process

MIB = 1 << 20
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

needs_tracker = pytest.mark.skipif(
    tracker_of_process() is None, reason="this kernel does not say which pages were written"
)


def anonymous(n_bytes: int) -> mmap.mmap:
    """Private memory full of numbers."""
    memory = mmap.mmap(-1, n_bytes, flags=PRIVATE)
    memory[:] = random.Random(n_bytes).randbytes(n_bytes)
    return memory


def place_of(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def at(place: int, n_bytes: int) -> memoryview:
    """The bytes at an address."""
    return memoryview((ctypes.c_char * n_bytes).from_address(place)).cast("B")


def anew(view: memoryview) -> bytes:
    """The digest as it is found without knowing anything."""
    return digest_of_memory(view, watch=False)


def known(view: memoryview) -> list[bool]:
    """For each chunk whether its name is known."""
    return [name is not None for name in look(view).names]
