"""Conversations and vector stores that an earlier run made: they hold what that run put there.

Their creation is replayed, so that what names them is, too. A run that then puts something else
there gets answers that depend on both: that is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbckpt.errors import NbckptError
from nbckpt.llm.flights import Landed
from nbckpt.llm.http_request import RecordedResponse
from nbckpt.llm.question import Question
from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.text.content_encodings import decoded

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_MOST = 200
_MADE = re.compile(r"/(?:conversations|vector_stores)$")
_CHANGES = frozenset({"chat", "conversations", "responses", "vector_stores"})
"""Names of kinds of endpoints that add to one."""


@dataclass
class _Object:
    """One of them.

    Attributes
    ----------
    made_at, replayed_at
        When it was made, and when this run got that from a recording.
    known
        Ids of the recordings that this run has got since then.
    """

    made_at: float
    replayed_at: float
    known: set[str] = field(default_factory=set)


class GrowingObjects:
    """Those that a session has from recordings.

    Parameters
    ----------
    latest
        So many of the latest recordings of the steps whose names begin so.
    """

    def __init__(self, session: Session, latest: Callable[[str, int], Sequence[Record]]) -> None:
        self._session = session
        self._latest = latest
        self._objects: dict[str, _Object] = {}

    def replayed(self, question: Question, landed: Landed) -> None:
        """Take note of an answer from a recording."""
        recording = landed.recording
        if recording is None:
            return
        for name in self._named(question):
            self._objects[name].known.add(recording.id)
        is_made = question.asked.method == "POST" and _MADE.search(question.endpoint.path)
        if is_made and (name := _name_in(landed.kept)):
            self._objects[name] = _Object(recording.created_at, clock.now())

    def changed(self, question: Question) -> str:
        """The object that is about to get something besides what it holds; empty if none is."""
        if question.endpoint.kind.name not in _CHANGES or question.asked.method != "POST":
            return ""
        return next((name for name in self._named(question) if self._holds(name, question)), "")

    def _named(self, question: Question) -> list[str]:
        text, url = question.body.text, question.asked.url
        return [name for name in list(self._objects) if name in url or name.encode() in text]

    def _holds(self, name: str, question: Question) -> bool:
        """True if an object holds what an earlier run put there, and this one did not ask for."""
        own = self._objects[name]
        return any(
            own.made_at < record["created_at"] < own.replayed_at
            and record["id"] not in own.known
            and record["endpoint"] in _CHANGES
            and self._names(record, name)
            for record in self._latest(question.scope.step, _MOST)
        )

    def _names(self, record: Record, name: str) -> bool:
        if name in record["url"]:
            return True
        try:
            return name.encode() in bytes(self._session.store.get_blob(record["blob"])[0])
        except NbckptError:
            return False


def _name_in(kept: RecordedResponse) -> str:
    encoding = next((v for name, v in kept.headers if name.lower() == "content-encoding"), "")
    try:
        value = json.loads(decoded(b"".join(kept.chunks), encoding) or b"")
    except ValueError:
        return ""
    found = value.get("conversation_id") or value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
