"""Answers that another step was given: of one that was renamed, moved, merged or decorated.

A call that has no recording of its own place gets one of an equal call of the notebook's line, so
that an edit around a call pays for nothing again. What a step that still runs has is its own: two
cells that ask the same have two samples.

Notes
-----
A recording is free unless its step has begun in this session, or one of its cells was given it. It
is free all the same where the cell that runs holds the code of the cell that has it: that one was
edited, pasted or merged, and one text of code is one cell wherever cells have no ids. A step that
has recordings of earlier equal calls by its own name asks for more samples: it gets those alone
whose code its cell holds.

Of several, the call gets the one that stands where it does: the third of equal calls the third.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nbckpt.digests import Digest
from nbckpt.llm.answer_owners import (
    AnswerOwners,
    CellRun,
    equals_of,
    function_of,
    holds,
    rank_of,
)
from nbckpt.llm.question import Question
from nbckpt.llm.recordings_index import Asking
from nbckpt.model import Record
from nbckpt.runtime import clock

if TYPE_CHECKING:
    from nbckpt.session.session import Session


class MovedAnswers:
    """The recordings of a session's notebook, for calls whose own places have none.

    Parameters
    ----------
    of_request
        All recordings of a request, in the order in which they were made.
    """

    def __init__(self, session: Session, of_request: Callable[[Digest], Sequence[Record]]) -> None:
        self._session = session
        self._of_request = of_request
        self._owners = session.state(AnswerOwners)
        self._told: set[tuple[str, str]] = set()
        self._had: dict[Asking, tuple[CellRun, Record]] = {}
        self._lock = threading.Lock()

    def find(self, question: Question) -> Record | None:
        """The recording that a call gets of another step's; None if there is none to give."""
        step, own, others = equals_of(question.scope.step), list[Record](), list[Record]()
        for record in self._of_request(question.request):
            (own if equals_of(record["step"]) == step else others).append(record)
        if not others:
            return None
        with self._lock:  # threads that ask at once get one each
            running = self._owners.running(self._session, reads=True)
            run, had = self._had.get(question.asking, (None, None))
            if run is running:
                return had  # equal calls that share an answer
            rank = _rank(question)
            asks_for_more = any(r["occurrence"] + rank_of(r["step"]) < rank for r in own)
            found, given = self._free(question, running, others, asks_for_more=asks_for_more)
            gets = _one_of(found, given, question)
            if gets is not None:
                self._owners.moves(self._session, gets["id"], question.asking)
                self._had[question.asking] = running, gets
        return gets

    def _free(
        self,
        question: Question,
        running: CellRun,
        others: Sequence[Record],
        *,
        asks_for_more: bool,
    ) -> tuple[list[Record], set[str]]:
        """The recordings among which a call has its own, and the ids of those that are given."""
        oldest = 0.0 if question.ttl_s is None else clock.now() - question.ttl_s
        line = set(self._session.timeline.line(self._session.position.id))
        is_here, was_resumed = self._is_here(line), self._was_resumed(line)
        found, given = list[Record](), set[str]()
        for record in others:
            if record["created_at"] < oldest or not is_here(record):
                continue
            owner = self._owners.of(record["id"], record["step"])
            if owner is not None and owner.run is running:
                given.add(record["id"])
            elif owner is not None:
                if not running.is_of_cell(owner.run, owner.source):
                    continue
            elif (asks_for_more or was_resumed(record["step"])) and not holds(
                running.source, self._source_of(record["step"])
            ):
                continue
            found.append(record)
        return found, given

    def tell(self, question: Question, record: Record) -> None:
        """Say once of each two steps that one is answered as the other was."""
        pair = (function_of(question.scope.step), function_of(record["step"]))
        if pair in self._told:
            return
        self._told.add(pair)
        asks, was_asked = (name.removesuffix("(") for name in pair)
        self._session.writes.notify(
            f"{asks!r} is given answers that {was_asked!r} got, for the same requests; to pay for "
            f"others, ask in `with nbckpt.recording('record')`"
        )

    def _is_here(self, line: set[str]) -> Callable[[Record], bool]:
        """Of a recording, whether it is of the notebook, or of the line that the session is on."""
        session = self._session
        begun = session.store.records("session")
        own = {r["session"] for r in begun if r["notebook"] == session.notebook}
        own.add(session.id)  # before it has read its own journal

        def is_here(record: Record) -> bool:
            return record["session"] in own or record["position"] in line

        return is_here

    def _was_resumed(self, line: set[str]) -> Callable[[str], bool]:
        """Of a step, whether what it made is there because the session went to its line."""
        timeline = self._session.timeline

        @cache
        def was_resumed(step: str) -> bool:
            return step not in self._owners.begun and any(
                checkpoint.id in line for checkpoint in timeline.named(step)
            )

        return was_resumed

    def _source_of(self, step: str) -> str:
        """The code of a step of another session, as far as the history has it."""
        named = self._session.timeline.named(step)
        return named[0].cell.source if named else ""


def _rank(question: Question) -> int:
    """How many equal calls came before one, in its step or of its function."""
    return question.occurrence.number + rank_of(question.scope.step)


def _one_of(found: Sequence[Record], given: set[str], question: Question) -> Record | None:
    """The recording that stands where a call does, or the first that nobody has."""
    place = question.occurrence
    steps = {step: n for n, step in enumerate(dict.fromkeys(r["step"] for r in found))}
    found = sorted(found, key=lambda r: (steps[r["step"]], r["occurrence"], r["created_at"]))
    if place.item:
        same = [r for r in found if (r.get("item"), r.get("nth", 0)) == (place.item, place.nth)]
        found = same or found
    rank = _rank(question)
    if rank < len(found) and found[rank]["id"] not in given:
        return found[rank]
    return next((record for record in found if record["id"] not in given), None)
