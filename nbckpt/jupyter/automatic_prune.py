"""Pruning by the settings, done in a slow thread while the notebook is at rest."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from nbckpt.config.settings import prune_size
from nbckpt.errors import NbckptError

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.timeline.prune_retention import Retention

PAUSE_S = 60.0
"""From one look at what there is to prune to the next."""


class Retaining:
    """Prunes the store of one session, if its settings ask for it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._looked_at = -PAUSE_S
        self._told = ""

    def look(self) -> None:
        """Have what is no longer to be kept removed, unless that was looked at just now.

        Raises
        ------
        StoreError
            If the store was closed.
        """
        settings = self._session.settings
        asked_for = (settings.retention_count, settings.retention_days, prune_size(settings))
        now = time.monotonic()
        if asked_for == (None, None, None) or now - self._looked_at < PAUSE_S:
            return
        self._looked_at = now
        from nbckpt.timeline.prune_retention import Retention

        count, days, size = asked_for
        calls_days = settings.retention_recordings
        retention = Retention(keep_last=count, keep_days=days, max_size=size, calls_days=calls_days)
        self._session.store.queue.in_background(partial(self._prune, retention))

    def _prune(self, retention: Retention) -> None:
        """In the store's slow thread; sessions take note when they next look at the store."""
        from nbckpt.storage.automatic_pruning import automatic

        try:
            automatic(self._session.store, retention)
        except NbckptError as problem:
            # A job's error would be raised by whoever waits for the store next.
            text = f"old checkpoints were not removed: {problem}"
            if text != self._told:
                self._told = text
                self._session.writes.news.append(text)
