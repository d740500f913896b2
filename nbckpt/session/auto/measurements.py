"""Measured cost of saving in a session, and measured lifetimes of its store's sessions."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

from nbckpt.config.auto_policy import Policy
from nbckpt.runtime import clock
from nbckpt.session.auto import decision, lifetimes
from nbckpt.session.auto.decision import Measured

if TYPE_CHECKING:
    from nbckpt.session.workspace.workspace import Workspace
    from nbckpt.storage.store import Store

WEIGHT = 0.3
"""Of the newest measure, in the average of what saving costs."""

BEHIND_SHARE = 0.1
"""Of the time that bytes are written behind a cell, what the next cells feel."""

LOOK_AGAIN_S = 600.0
"""So long the mean time between failures holds."""

ESTIMATE_HOLDS_S = 1.0
"""So long an estimate holds, which looks at every variable."""

_SIZED = ("numpy", "pandas", "polars", "pyarrow", "torch")


class MeasuredSession(Protocol):
    """The parts of a session that tell what saving costs in it."""

    policy: Policy
    store: Store
    namespace: dict[str, object]

    @property
    def workspace(self) -> Workspace:
        """The namespace, and what may have changed in it."""


class Costs:
    """Measures of one session, newer ones weighing more."""

    def __init__(self) -> None:
        self._save_s: float | None = None
        self._behind_s = 0.0
        self._saves = 0
        self._failure_s = 0.0
        self._failure_at = -LOOK_AGAIN_S
        self._estimate_s = 0.0
        self._estimated_at = -ESTIMATE_HOLDS_S

    def held(self, took_s: float) -> None:
        """Take in for how long a checkpoint held a cell up.

        Not of the first one, which loads code that the others find there.
        """
        self._saves += 1
        if self._saves > 1:
            self._save_s = _averaged(self._save_s, took_s)

    def follow(self, written: Future[None]) -> None:
        """Take in how long a checkpoint is written, when it is."""
        began = time.monotonic()

        def done(_: Future[None]) -> None:
            self._behind_s = _averaged(self._behind_s, time.monotonic() - began)

        written.add_done_callback(done)

    def measured(self, session: MeasuredSession) -> Measured:
        """Both terms; what nobody asks for is not looked up."""
        save_s = self._save(session)
        if session.policy.kind != "cost":
            return Measured(save_s, decision.WORKING_DAY_S)
        now = time.monotonic()
        if now - self._failure_at >= LOOK_AGAIN_S:
            self._failure_at, self._failure_s = now, _time_between_failures(session)
        return Measured(save_s, self._failure_s)

    def _save(self, session: MeasuredSession) -> float:
        if self._save_s is not None:
            return self._save_s + BEHIND_SHARE * self._behind_s
        now = time.monotonic()
        if now - self._estimated_at >= ESTIMATE_HOLDS_S:
            self._estimated_at = now
            self._estimate_s = decision.estimated_save_s(_size_of(session))
        return self._estimate_s


def _time_between_failures(session: MeasuredSession) -> float:
    store = session.store
    others = [*store.records("checkpoint"), *store.records("event")]
    found = lifetimes.lives_of(
        store.records("session"), others, now=clock.now(), is_alive=lifetimes.is_alive
    )
    return decision.time_between_failures(found)


def _averaged(before: float | None, value: float) -> float:
    return value if before is None else (1 - WEIGHT) * before + WEIGHT * value


def _size_of(session: MeasuredSession) -> int:
    """Bytes of the namespace, as far as that is told without a look into it."""
    size = 0
    for name in session.workspace.tracker.user_names():
        if (kept := session.workspace.capturer.kept_as(name)) is not None:
            size += kept.size_bytes
            continue
        value = session.namespace.get(name)
        if type(value).__module__.partition(".")[0] in _SIZED:
            count = getattr(value, "nbytes", 0)
            size += count if isinstance(count, int) else 0
        elif type(value).__module__ == "builtins":
            size += sys.getsizeof(value)
    return size
