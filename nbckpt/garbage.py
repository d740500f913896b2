"""Have Python look for no garbage while much is made that stays: records, modules."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 5_000
"""So many new objects are worth not looking at."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage: much is made in the block, and none of it is any.

    Who has frozen objects of his own finds them so, and no others.
    """
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > MANY and not gc.get_freeze_count():
                # As old as they will be: else they are gone through twice to become so.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
