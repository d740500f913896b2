"""States of locks: held or not, and by the thread that runs the cells or another."""

from __future__ import annotations

import re
import threading

_OWNER = re.compile(r" owner=(\d+) count=(\d+) at ")


def parts_of_lock(lock: threading.Lock) -> list[object]:
    """Parts that tell a lock from another."""
    return ["held"] if lock.locked() else []


def parts_of_reentrant_lock(lock: object) -> list[object]:
    """Parts that tell a reentrant lock from another: holds by other threads do not count."""
    times = times_held(lock)
    return ["held", times] if times else []


def times_held(lock: object) -> int:
    """Number of times that the thread that runs the cells holds a reentrant lock.

    Nothing public tells; its text does: ``<locked _thread.RLock object owner=7 count=1 at 0x7f>``.
    """
    found = _OWNER.search(repr(lock))
    if found is None or int(found[1]) != threading.main_thread().ident:
        return 0
    return int(found[2])
