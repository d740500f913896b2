"""Bytes of memory that this process can still get."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from nbckpt.storage.disk import read_whole

_MACHINE = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
_UNKNOWN_SHARE = 4


def free_bytes() -> int:
    """Bytes that can be had without taking them from anybody, in this container if it is one.

    Where the system does not tell, a quarter of the machine's memory.
    """
    known = [room for room in (_free_in_machine(), _free_in_group()) if room is not None]
    return min(known) if known else physical_bytes() // _UNKNOWN_SHARE


def physical_bytes() -> int:
    """All that the machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _free_in_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in read_whole(_MACHINE).splitlines():
            if line.startswith(b"MemAvailable:"):
                return int(line.split()[1]) << 10
    return None


def _free_in_group() -> int | None:
    """Bytes left under a container's limit, inactive file caches included; None without one."""
    with suppress(OSError, ValueError, IndexError):
        most = int(read_whole(_GROUP / "memory.max"))
        used = int(read_whole(_GROUP / "memory.current"))
        stat = dict(line.split() for line in read_whole(_GROUP / "memory.stat").splitlines())
        return max(0, most - used + int(stat.get(b"inactive_file", 0)))
    return None
