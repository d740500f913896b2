"""Locks: a fresh one of the same kind, held if it was held; and what threads keep for themselves.

A lock guards the threads of one process, which a checkpoint does not outlive; as part of a value
(a queue, a model with a lock) it must not cost that value.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from nbckpt.fingerprint.values.locks import times_held

_LOCK = type(threading.Lock())
_RLOCK = type(threading.RLock())


def _reduce_lock(_: object, lock: threading.Lock) -> Any:
    return make_lock, (lock.locked(),)


def _reduce_rlock(_: object, lock: object) -> Any:
    times = times_held(lock)
    return make_rlock, (times,) if times else ()


def _reduce_local(_: object, local: threading.local) -> Any:
    return make_local, (vars(local),)


def make_local(members: dict[str, object]) -> threading.local:
    """Storage for each thread, with what the thread that wrote it had."""
    local = threading.local()
    vars(local).update(members)
    return local


def make_lock(held: bool) -> threading.Lock:
    """A new lock, acquired if `held`."""
    lock = threading.Lock()
    if held:
        lock.acquire()
    return lock


def make_rlock(times: int = 0) -> Any:
    """A new reentrant lock, acquired so many times by the thread that runs the cells.

    It is free where another thread had it, which is gone.
    """
    lock = threading.RLock()
    for _ in range(times):
        lock.acquire()
    return lock


REDUCERS: dict[type, Callable[[object, Any], Any]] = {
    _LOCK: _reduce_lock,
    _RLOCK: _reduce_rlock,
    threading.local: _reduce_local,
}
