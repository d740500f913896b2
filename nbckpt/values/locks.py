"""Whether a lock is held, and by whom."""

from __future__ import annotations

import re
import threading

_OWNER = re.compile(r" owner=(\d+) count=(\d+) at ")


def parts_of_lock(lock: threading.Lock) -> list[object]:
    """What tells a lock from another."""
    return ["held"] if lock.locked() else []


def parts_of_reentrant_lock(lock: object) -> list[object]:
    """What tells a reentrant lock from another: what other threads do with it does not count."""
    times = times_held(lock)
    return ["held", times] if times else []


def times_held(lock: object) -> int:
    """How often a reentrant lock was acquired by the thread that runs the cells.

    Nothing public tells; its text does: ``<locked _thread.RLock object owner=7 count=1 at 0x7f>``.
    """
    found = _OWNER.search(repr(lock))
    if found is None or int(found[1]) != threading.main_thread().ident:
        return 0
    return int(found[2])
