"""Have Python look for no garbage while much is made that stays: records, modules."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 5_000
"""So many new objects are worth not looking at."""


_blocks = 0
_counting = threading.Lock()


def is_enabled() -> bool:
    """Whether the collector is on, but for where nbckpt has switched it off for a moment."""
    return gc.isenabled() or _blocks > 0


class switched_off:  # noqa: N801  # reads as a state: with switched_off():
    """Have the collector off, if it is on; another thread may do so at the same time."""

    __slots__ = ("_is_ours",)

    def __enter__(self) -> None:
        global _blocks  # noqa: PLW0603  # how many blocks there are in all threads
        with _counting:
            self._is_ours = is_enabled()
            _blocks += self._is_ours
            gc.disable()

    def __exit__(self, *_: object) -> None:
        global _blocks  # noqa: PLW0603  # as above
        with _counting:
            _blocks -= self._is_ours
            if self._is_ours and not _blocks:
                gc.enable()


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage: much is made in the block, and none of it is any.

    Who has frozen objects of his own finds them so, and no others.
    """
    enabled = is_enabled()
    with switched_off():
        try:
            yield
        finally:
            if enabled and gc.get_count()[0] > MANY and not gc.get_freeze_count():
                # As old as they will be: else they are gone through twice to become so.
                gc.freeze()
                gc.unfreeze()
