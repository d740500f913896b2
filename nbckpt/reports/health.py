"""Health of a store, for monitoring: one JSON object, whose members stay as they are.

``ok``, ``problems``
    False, and one sentence each, if something could not be read.
``nbckpt``, ``store``, ``format``, ``encrypted``
    Version of nbckpt, path and format of the store, and true if the store is encrypted.
``size_bytes``, ``sizes``
    All of it; journals, packs and tables apart.
``checkpoints``, ``branches``, ``newest``
    Numbers of checkpoints that are done, failed and partial; number of branches; the newest
    checkpoint that is done: ``id``, ``name``, ``branch``, ``created_at`` (UTC), ``age_s``. None
    if there is none.
``sessions``
    Numbers of journals with a live writer (``alive``) and without one (``dead``).
``failures``
    Failures to keep, record or prune in the last day: ``count``, and of the last one ``event``,
    ``at`` (UTC) and ``error``.
``stale``
    Variables that were found changed in the last day though no look had seen it, and were kept
    again; under the setting ``verify`` also those that a restored step makes otherwise than a run
    does: ``count``, and of the last one ``event``, ``at`` and ``error``, the rule that was wrong.
``pruned_at``, ``questions``
    Time when a prune last removed something (UTC, or None); number of questions that wait.
``untrusted``
    Numbers of journals, records and checkpoints that this user neither wrote nor vouched for.
``disk``
    ``free_bytes`` and ``size_bytes`` of the file system; None where it does not tell.
``limits``
    ``max_size``, ``max_store_size``, ``max_value_size``, ``max_background_memory``; ``room_bytes``
    is the number of bytes left until ``max_store_size``, or None.
``unwritten``
    Of the asking session alone, else None: ``bytes`` and ``checkpoints`` that wait for the disk,
    and ``refused``, true if the disk refused some.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.storage.census import census
from nbckpt.text.tables import facts_text
from nbckpt.text.units import age_text, bytes_text, count_text
from nbckpt.timeline.approvals import APPROVAL, Questions
from nbckpt.version import __version__

if TYPE_CHECKING:
    from nbckpt.config.settings import Settings
    from nbckpt.session.session import Session

Health: TypeAlias = dict[str, Any]
DAY_S = 86_400
STALE = frozenset({"stale"})
FAILURES = frozenset({"not_kept", "write_failed", "not_recorded", "prune_failed", "hook_failed"})
_LIMITS = ("max_size", "max_store_size", "max_value_size", "max_background_memory")


def health_of(session: Session, settings: Settings, *, is_own: bool = False) -> Health:
    """Health of a session's store, as far as it has been read.

    Parameters
    ----------
    is_own
        True if the session is one that writes, and not one made to look.
    """
    store, now = session.store, clock.now()
    found = census(store.path)
    size = sum(found.sizes.values())
    most = settings.max_store_size
    problems, placed = list(store.damages), _placed(session)
    recent = [*store.events.chosen(FAILURES | STALE, since=now - DAY_S)]
    return {
        "ok": not problems,
        "problems": problems,
        "nbckpt": __version__,
        "store": str(store.path),
        "format": found.format,
        "encrypted": found.is_encrypted,
        "size_bytes": size,
        "sizes": found.sizes,
        "checkpoints": _counted(placed),
        "branches": len(session.timeline.branches),
        "newest": _newest(placed, now),
        "sessions": {"alive": found.alive, "dead": found.dead},
        "failures": _told(recent, FAILURES),
        "stale": _told(recent, STALE),
        "pruned_at": _utc(max((r["at"] for r in store.records("prune")), default=None)),
        "questions": len(Questions(store.records(APPROVAL)).waiting),
        "untrusted": store.trust.untrusted()._asdict(),
        "disk": {"free_bytes": found.free_bytes, "size_bytes": found.disk_bytes},
        "limits": {name: getattr(settings, name) for name in _LIMITS}
        | {"room_bytes": None if most is None else max(0, most - size)},
        "unwritten": _unwritten(session) if is_own else None,
    }


def text_of(health: Health) -> str:
    """The facts of `health_of` that a status does not give otherwise, for people."""
    free, room = health["disk"]["free_bytes"], health["limits"]["room_bytes"]
    rooms = [] if free is None else [f"{bytes_text(free)} free on the disk"]
    rooms += [] if room is None else [f"{bytes_text(room)} left of max_store_size"]
    kind = f"format {health['format']}{', encrypted' if health['encrypted'] else ''}"
    sessions, newest = health["sessions"], health["newest"]
    failed, stale = health["failures"]["count"], health["stale"]["count"]
    return facts_text(
        [
            ("size", "; ".join([f"{bytes_text(health['size_bytes'])} ({kind})", *rooms])),
            ("sessions", f"{sessions['alive']} at work, {sessions['dead']} ended"),
            ("newest", age_text(newest["age_s"]) if newest else "none yet"),
            ("failures", f"{count_text(failed, 'failure')} in the last day" if failed else ""),
            (
                "unseen",
                f"{count_text(stale, 'variable')} found wrong in the last day" if stale else "",
            ),
        ]
    )


def _placed(session: Session) -> list[Record]:
    """The records of all checkpoints that count; what is asked of them is known undecoded."""
    known = session.timeline.checkpoints.keys()
    found = {r["id"]: r for r in session.store.records("checkpoint") if r["id"] in known}
    return list(found.values())


def _counted(placed: Sequence[Record]) -> dict[str, int]:
    counts = Counter(record["state"] for record in placed)
    return {state: counts[state] for state in ("done", "failed", "partial")}


def _newest(placed: Sequence[Record], now: float) -> dict[str, object] | None:
    done = (record for record in placed if record["state"] == "done")
    newest = max(done, key=lambda record: float(record["created_at"]), default=None)
    if newest is None:
        return None
    return {
        "id": newest["id"],
        "name": newest["name"],
        "branch": newest["branch"],
        "created_at": _utc(newest["created_at"]),
        "age_s": round(max(0.0, now - newest["created_at"]), 3),
    }


def _told(recent: Sequence[Record], kinds: frozenset[str]) -> dict[str, object]:
    own = [event for event in recent if event["event"] in kinds]
    last = own[-1] if own else None
    told = last and {"event": last["event"], "at": _utc(last["at"]), "error": last.get("error")}
    return {"count": len(own), "last": told}


def _unwritten(session: Session) -> dict[str, object]:
    session.writes.settle()
    return {
        "bytes": session.store.unwritten_bytes,
        "checkpoints": len(session.writes.unfinished),
        "refused": session.writes.refused,
    }


def _utc(at: float | None) -> str | None:
    return None if at is None else dt.datetime.fromtimestamp(at, dt.UTC).isoformat()
