"""Lifetimes of a store's sessions, read from their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nbckpt.model import Record
from nbckpt.runtime.processes import is_running
from nbckpt.session.auto.decision import Life
from nbckpt.timeline.events import ENDED


def lives_of(
    sessions: Iterable[Record],
    others: Iterable[Record],
    *,
    now: float,
    is_alive: Callable[[Record], bool],
) -> list[Life]:
    """One life for each session, from its first record to its last.

    Parameters
    ----------
    sessions
        Records of kind `session`.
    others
        Records that name their session: checkpoints and events.
    is_alive
        Whether the process of a `session` record runs still; it has lived until `now` then.
    """
    last: dict[str, float] = {}
    ended = set()
    for record in others:
        session = record.get("session", "")
        at = record.get("at") or record.get("created_at") or 0.0
        last[session] = max(at, last.get(session, 0.0))
        if record.get("event") == ENDED:
            ended.add(session)
    lives = []
    for record in sessions:
        session, began = record.get("session", ""), record.get("at", now)
        lives_still = session not in ended and is_alive(record)
        until = now if lives_still else last.get(session, began)
        lives.append(Life(max(0.0, until - began), not lives_still and session not in ended))
    return lives


def is_alive(record: Record) -> bool:
    """True if the process that a `session` record names seems to run; False on other machines."""
    from socket import gethostname

    pid = record.get("pid")
    if record.get("host") != gethostname() or not isinstance(pid, int):
        return False
    return is_running(pid)
