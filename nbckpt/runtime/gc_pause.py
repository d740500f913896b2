"""Have Python look for no garbage while much is made that stays: records, modules, values."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

MANY = 5_000
"""So many new objects are worth not looking at."""


_blocks = 0
_before = gc.get_threshold()
_counting = threading.Lock()


def thresholds() -> tuple[int, int, int]:
    """Those of the collector, but for where nbckpt has it wait for a moment."""
    now = gc.get_threshold()
    return _before if _blocks and not now[0] else now


class switched_off:  # noqa: N801  # reads as a state: with switched_off():
    """Have the collector wait; another thread may do so at the same time.

    It waits by its threshold: a module that is imported meanwhile, and switches the collector on
    or off or sets another threshold, finds its doing kept.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _blocks, _before  # noqa: PLW0603  # how many blocks there are in all threads
        with _counting:
            _before = thresholds()
            _blocks += 1
            gc.set_threshold(0, *_before[1:])

    def __exit__(self, *_: object) -> None:
        global _blocks  # noqa: PLW0603  # as above
        with _counting:
            if not _blocks:  # in a forked child, where all of them have ended
                return
            now = thresholds()
            _blocks -= 1
            if not _blocks:
                gc.set_threshold(*now)


def _end_all() -> None:
    """In a forked child the threads are gone that would have ended their blocks."""
    global _blocks, _counting  # as above
    now = thresholds()
    _blocks, _counting = 0, threading.Lock()
    gc.set_threshold(*now)


with suppress(AttributeError):  # where there is no fork
    os.register_at_fork(after_in_child=_end_all)


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage: much is made in the block, and none of it is any.

    Who has frozen objects of his own finds them so, and no others.
    """
    with switched_off():
        try:
            yield
        finally:
            if gc.isenabled() and gc.get_count()[0] > MANY and not gc.get_freeze_count():
                # As old as they will be: else they are gone through twice to become so.
                gc.freeze()
                gc.unfreeze()
