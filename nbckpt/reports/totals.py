"""Cost and savings of a store's steps, and its size on the disk, in figures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nbckpt.session.history.costs import ledger_of
from nbckpt.storage.sizes import size_of

if TYPE_CHECKING:
    from nbckpt.session.session import Session

SHARE = 0.02
"""Of the time, at most, that is spent on asking the disk."""


class Totals:
    """Figures of one session's store, asked for again and again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._size_bytes = 0
        self._not_before = 0.0
        self._revision = -1

    def now(self) -> dict[str, float | None]:
        """`paid_usd`, `saved_usd` (None: no price is known), `saved_s` and `size_bytes`."""
        ledger = ledger_of(self._session.store, self._session.timeline)
        return {
            "paid_usd": ledger.total.paid_usd,
            "saved_usd": ledger.saved_usd,
            "saved_s": round(ledger.saved_s, 3),
            "size_bytes": self._size(),
        }

    def _size(self) -> int:
        revision = self._session.timeline.revision
        began = time.monotonic()
        if revision != self._revision and began >= self._not_before:
            self._revision = revision
            self._size_bytes = size_of(self._session.store.path)
            now = time.monotonic()
            self._not_before = now + (now - began) / SHARE
        return self._size_bytes
