"""Counts of a session's model calls by outcome, and notices about calls."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbckpt.llm.step_scope import Scope
    from nbckpt.session.session import Session


class CallOutcomes:
    """Counts of the model calls of one session, and notices about those that go wrong.

    Attributes
    ----------
    seen
        Model calls by provider, those outside of steps, too.
    counts
        How many were ``recorded``, ``replayed``, ``failed``, ``partial``, ``passed`` through,
        ``followed`` by others as there is more to come, and ``stopped`` before they were sent, each
        per provider.
    """

    def __init__(self, session: Session) -> None:
        self.seen: Counter[str] = Counter()
        self.counts: Counter[tuple[str, str]] = Counter()
        self._session = session
        self._missed: set[str] = set()
        self._made_before: set[str] = set()
        self._lock = threading.Lock()

    def count_seen(self, provider: str) -> None:
        """Count a call of any outcome."""
        with self._lock:
            self.seen[provider] += 1

    def count(self, outcome: str, provider: str, within: Scope | None = None) -> None:
        """Count the outcome of a call, for its step too if it has one."""
        if within is not None:
            within.count(outcome, provider)
        with self._lock:
            self.counts[outcome, provider] += 1

    def note_made_before(self, step: str) -> None:
        """Note that what a step made at a provider was made by an earlier run of it."""
        with self._lock:
            self._made_before.add(step)

    def is_made_before(self, step: str) -> bool:
        """True if something that a step asks for was made by an earlier run of it."""
        with self._lock:
            return step in self._made_before

    def notify_defect(self, problem: Exception) -> None:
        """Say that a call was not recorded though it should have been."""
        what = f"{type(problem).__name__}: {problem}"
        self._session.writes.notify(f"a model call was NOT recorded, by a defect in nbckpt: {what}")

    def notify_missed(self, place: str, text: str) -> None:
        """Say, once for each place, that calls from there are not seen."""
        with self._lock:
            is_new = place not in self._missed
            self._missed.add(place)
        if is_new:
            self._session.writes.notify(text)
