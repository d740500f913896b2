"""Prunes that nobody asked for, when they are worth it."""

from __future__ import annotations

import weakref
from dataclasses import replace

from nbckpt.runtime import clock
from nbckpt.storage.pruning import Pruned, prune
from nbckpt.storage.rewriting import folded
from nbckpt.storage.sizes import size_of
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention, kept

FEWEST = 10
SPARE = 0.8
"""Of the size that is asked for: so that not each new checkpoint is over it again."""


def automatic(store: Store, retention: Retention, *, now: float | None = None) -> Pruned | None:
    """Prune if that is asked for and worth it by now; None if it is not.

    Not each checkpoint too many is worth it: a tenth of those that are kept is, or a store that is
    larger than it may be and has grown since the last time.

    Raises
    ------
    StoreError
        If another prune is at work, or the disk refuses.
    """
    now = clock.now() if now is None else now
    if retention.max_size is not None and _is_too_large(store, retention.max_size):
        smaller = replace(retention, max_size=int(retention.max_size * SPARE))
        done = prune(store, smaller, now=now)
        _SIZES[store] = size_of(store.path)
        return done
    firm = replace(retention, max_size=None)
    if not firm.is_bounded:
        return None
    timeline = folded(store.all_records())
    stay = kept(timeline, firm, now)
    if len(timeline.checkpoints) - len(stay) < max(FEWEST, len(stay) // 10):
        return None
    return prune(store, firm, now=now)


_SIZES: weakref.WeakKeyDictionary[Store, int] = weakref.WeakKeyDictionary()


def _is_too_large(store: Store, max_size: int) -> bool:
    size = size_of(store.path)
    return size > max_size and size > 1.1 * _SIZES.get(store, 0)
