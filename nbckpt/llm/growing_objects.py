"""What providers hold under names: conversations, vector stores, files, jobs.

Their creation is replayed, so that what names them is, too. What is asked of one by its name is
answered by a recording only if nothing was put there, or deleted, since that recording; whether a
file is there, and what is deleted or ended, only if this run has got the name from an answer. A
run that puts something else into a conversation or a vector store that an earlier run made gets
answers that depend on both: that is told.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.errors import NbckptError
from nbckpt.llm.endpoint_kinds import MAKES
from nbckpt.llm.flights import Landed
from nbckpt.llm.http_request import RecordedResponse
from nbckpt.llm.question import Question
from nbckpt.llm.step_scope import Scope
from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.text.content_encodings import decoded, encoding_in

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_MOST = 200
_MADE = re.compile(r"/(?:conversations|fileSearchStores|libraries|vector_stores)$")
_OBJECT = re.compile(
    r"/(?:agents|batches|cachedContents|containers|conversations|fileSearchStores|files|interactions"
    r"|jobs|libraries|operations|predictions|responses|uploads|vector_stores|videos)/([^/:]+)"
)
_FILE = re.compile(r"/files/[^/:]+$")
"""Of a file that may be there or not: some providers let one name it."""
_OWN_NAME = re.compile(r'"name": ?"files/([^"]+)"')
_MOST_SAID = 4 << 10
"""Bytes of an answer in which the names stand that it gives."""
_SAID = 500
"""Answers that are searched for names, the latest."""
_CHANGES = frozenset({"chat", "conversations", "responses", "vector_stores"})
"""Names of kinds of endpoints that add to one."""


@dataclass
class _Object:
    """One of them.

    Attributes
    ----------
    made_at, replayed_at
        When it was made, and when this run got that from a recording.
    is_talk
        Whether it is a conversation.
    known
        Ids of the recordings that this run has got since then.
    """

    made_at: float
    replayed_at: float
    is_talk: bool
    known: set[str] = field(default_factory=set)


class _Change(NamedTuple):
    """When a run of a step has changed something, or did so in the run that is replayed."""

    run: Scope
    at: float


def _run_of(question: Question) -> Scope:
    return question.scope.around or question.scope


def _is_over(run: Scope, now: Scope) -> bool:
    """True for an earlier run of the step that runs again: it counts for nothing."""
    return run.step == now.step and run is not now


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
        self._said: deque[tuple[Scope, bytes]] = deque(maxlen=_SAID)
        self._changes: dict[str, dict[str, _Change]] = {}

    def may_answer(self, question: Question, created_at: float) -> bool:
        """True if a recording of some time can answer: what it is about is as it was."""
        asked, endpoint = question.asked, question.endpoint
        text = question.body.text
        run, names = _run_of(question), _OBJECT.findall(endpoint.path)
        is_undone = asked.method == "DELETE" or endpoint.kind.name == "cancel"
        for name, by_step in list(self._changes.items()):
            if is_undone and name not in names[-1:]:  # what else is in there is of no account
                continue
            if name not in asked.url and name.encode() not in text:
                continue
            for change in list(by_step.values()):
                if not _is_over(change.run, run) and created_at <= change.at:
                    return False
        if not is_undone and (asked.method != "GET" or not _FILE.search(endpoint.path)):
            return True
        said = (text for other, text in list(self._said) if not _is_over(other, run))
        return not names or any(names[-1].encode() in text for text in said)

    def answered(self, question: Question, kept: RecordedResponse, created_at: float) -> None:
        """Take note of an answer, of whatever run: of the names in it, and of what it changes."""
        method, kind = question.asked.method, question.endpoint.kind
        if kind.name not in MAKES and not kind.is_read and method != "DELETE":
            if kind.name in _CHANGES:
                self._note_change(question, created_at)
            return
        body = _decoded(kept)
        if kind.name in MAKES or kind.is_read:
            run = _run_of(question)
            self._said += ((run, question.endpoint.path.encode()), (run, body[:_MOST_SAID]))
        if method == "DELETE":
            self._change(question, _OBJECT.findall(question.endpoint.path), created_at)
        elif method in ("PATCH", "POST") and not kind.until:
            self._note_change(question, created_at)
            if kind.name == "files":
                names = _OWN_NAME.findall(body.decode("utf-8", "replace"))
                self._change(question, names, created_at)

    def _note_change(self, question: Question, created_at: float) -> None:
        self._change(question, _OBJECT.findall(question.endpoint.path), created_at)
        text = question.body.text
        talks = [n for n, o in self._objects.items() if o.is_talk and n.encode() in text]
        self._change(question, talks, created_at)

    def _change(self, question: Question, names: Iterable[str], at: float) -> None:
        run = _run_of(question)
        for name in names:
            self._changes.setdefault(name, {})[run.step] = _Change(run, at)

    def replayed(self, question: Question, landed: Landed) -> None:
        """Take note of an answer from a recording."""
        recording = landed.recording
        if recording is None:
            return
        for name in self._named(question):
            self._objects[name].known.add(recording.id)
        self.answered(question, landed.kept, recording.created_at)
        is_made = question.asked.method == "POST" and _MADE.search(question.endpoint.path)
        if is_made and (name := _name_in(landed.kept)):
            is_talk = question.endpoint.path.endswith("/conversations")
            self._objects[name] = _Object(recording.created_at, clock.now(), is_talk=is_talk)

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
            and not record.get("item")  # which is finished, and asks no more
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


def _decoded(kept: RecordedResponse) -> bytes:
    return decoded(b"".join(kept.chunks), encoding_in(kept.headers)) or b""


def _name_in(kept: RecordedResponse) -> str:
    try:
        value = json.loads(_decoded(kept))
    except ValueError:
        return ""
    if not isinstance(value, dict):
        return ""
    found = value.get("conversation_id") or value.get("id") or value.get("name")
    return found.rpartition("/")[2] if isinstance(found, str) else ""
