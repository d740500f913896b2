"""Calls that are about to be paid though nearly the same was answered: what differs, in words."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from nbckpt.config.record_hosts import fields_of
from nbckpt.errors import NbckptError
from nbckpt.llm.answer_owners import AnswerOwners, CellRun, function_of
from nbckpt.llm.nearest import Difference, is_of_tracing, near_miss
from nbckpt.llm.question import Question
from nbckpt.llm.recording_parts import asked_of
from nbckpt.llm.request_keys import compared, with_ids_in_order
from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.text.units import age_text

if TYPE_CHECKING:
    from nbckpt.session.session import Session

MOST_COMPARED = 20
MOST_ASKED = 50
LONGEST = 1 << 16
"""Bytes of the longest request that is compared."""


class _Asked(NamedTuple):
    """A call without a recording, the run of the cell that made it, and when."""

    question: Question
    run: CellRun
    at: float


class NearMisses:
    """The calls of a session that were paid, and nearly were not.

    Parameters
    ----------
    latest
        So many of the latest recordings of the steps whose names begin so.
    """

    def __init__(self, session: Session, latest: Callable[[str, int], Sequence[Record]]) -> None:
        self._session = session
        self._latest = latest
        self._owners = session.state(AnswerOwners)
        self._told: WeakKeyDictionary[CellRun, set[str]] = WeakKeyDictionary()
        self._asked: deque[_Asked] = deque(maxlen=MOST_ASKED)

    def note(self, question: Question) -> None:
        """Take note of a call that is about to be sent; tell of the first of each run of a step."""
        if question.body.members is None or len(question.body.text) > LONGEST:
            return
        run = self._owners.running(self._session)
        asked = _Asked(question, run, clock.now())
        self._asked.append(asked)
        step = function_of(question.scope.step)
        told = self._told.setdefault(run, set())
        if step not in told:
            told.add(step)
            if text := self._text(asked):
                self._session.writes.tell(f"{step.removesuffix('(')!r} {text}")

    def of(self, step: str) -> list[str]:
        """What differed in the calls of a step that were paid, a clause each."""
        asked = (a for a in list(self._asked) if a.question.scope.step == step)
        return list(dict.fromkeys(text for a in asked if (text := self._text(a))))

    def _text(self, asked: _Asked) -> str:
        """What differs from the nearest recording, and its age; empty if none is near."""
        question, now = asked.question, clock.now()
        fields = fields_of(self._session.settings.secret_fields)
        members = self._members(asked_of(question, fields), question)
        best: tuple[list[Difference], Record] | None = None
        for record in self._latest(function_of(question.scope.step), MOST_COMPARED):
            if not self._is_earlier(record, asked):
                continue
            found = near_miss(members, self._asked_of(record, question))
            if found and (best is None or len(found) < len(best[0])):
                best = found, record
        if best is None:
            return ""
        found, record = best
        listed = "; ".join(map(str, found))
        was = f"answered {age_text(now - record['created_at'])} in {record['step']!r}"
        return f"asks anew what was {was}, but for {listed}{_advice(found)}"

    def _is_earlier(self, record: Record, asked: _Asked) -> bool:
        """True if a recording is of an earlier run, and of another request to the same endpoint."""
        question, owner = asked.question, self._owners.of(record["id"])
        return (
            record["request"] != question.request
            and record["created_at"] < asked.at
            and (owner is None or owner.run is not asked.run)
            and record["provider"] == question.endpoint.provider
            and record["endpoint"] == question.endpoint.kind.name
        )

    def _asked_of(self, record: Record, question: Question) -> Mapping[str, Any] | None:
        try:
            kept = bytes(self._session.store.get_blob(record["blob"])[0])
        except NbckptError:
            return None
        return self._members(kept, question)

    def _members(self, body: bytes, question: Question) -> Mapping[str, Any] | None:
        """The members of a body, as it is kept, that tell what is asked."""
        try:
            value = json.loads(body)
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        ignored = fields_of(self._session.settings.match_ignore)
        return with_ids_in_order(compared(value, question.endpoint, ignored))


def _advice(found: Sequence[Difference]) -> str:
    """How to have ids and times not compared, where that can be said."""
    paths = [d.path for d in found]
    is_path = all(re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", path) for path in paths)
    if not is_path or not all(map(is_of_tracing, found)):
        return ""
    return f"; `%nbckpt config match_ignore {','.join(paths)}` has that not compared"
