"""Where a question begins: which one it is, among its equals, and in the store."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from nbckpt.config.validate import require_text
from nbckpt.digests import Digest, digest_of
from nbckpt.errors import CaptureError, UsageError
from nbckpt.llm import scope
from nbckpt.llm.step_scope import Scope
from nbckpt.runtime import clock
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.approvals.desk import Desk, desk_of
from nbckpt.steps.approvals.previews import shown
from nbckpt.steps.calls import occurrences
from nbckpt.steps.calls.arguments import digest_of_value
from nbckpt.steps.calls.occurrences import Occurrences
from nbckpt.steps.calls.results import RESULT, encoded
from nbckpt.steps.calls.step_messages import tell
from nbckpt.steps.execution.step_state import StepState
from nbckpt.text.secret_texts import redacted
from nbckpt.timeline.approvals import Question

ID_BYTES = 4
"""Of an id, which is typed."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question that is in the store.

    Attributes
    ----------
    counted
        Where its equals are counted.
    """

    desk: Desk
    question: Question
    counted: Scope | Occurrences

    def give_back(self) -> None:
        """Note that it has no answer: asked again, it is the same question."""
        self.counted.give_back(self.question.request, self.question.occurrence)
        self.counted.note_unanswered(self.question.id)


def begin(question: str, data: object) -> AskedQuestion:
    """A question with its place among its equals; as it was asked before, or kept now.

    Raises
    ------
    UsageError
        If no session is open, or `data` cannot be told from other data.
    StoreError
        If the disk refuses.
    """
    require_text(question, "a question")
    if not question.strip():
        message = "approve(''): say what is to be approved"
        raise UsageError(message)
    session = current_session.session()
    place = scope.here()
    request = _request(session, question, data, "" if place.scope is None else place.scope.item)
    session.refresh()
    desk = desk_of(session)
    counted = occurrences.here(session) if place.scope is None else place.scope
    n = counted.reserve(request)
    try:
        step = place.scope.step if place.scope is not None else None
        anew = session.state(StepState).pays_again or place.mode == "record"
        found = desk.found((step, request, n), fresh=anew)
        if found is None:
            cell_id = place.scope.cell_id if place.scope is not None else None
            asked = Question(
                id=secrets.token_hex(ID_BYTES),
                question=redacted(question),
                request=request,
                occurrence=n,
                step=step,
                position=session.position.id,
                session=session.id,
                branch=session.position.branch,
                notebook=session.notebook,
                cell_id=cell_id,
                asked_at=clock.now(),
            )
            found = _kept(desk, asked, data)
        elif found.state == "waiting":
            desk.ask_again(found)
    except BaseException:
        counted.give_back(request, n)
        raise
    return AskedQuestion(desk, found, counted)


def _request(session: Session, question: str, data: object, item: str) -> Digest:
    """Digest of a question, its data and its item: the answer of one item counts for no other."""
    about = digest_of_value(data, session.namespace)
    if about is None:
        message = (
            f"approve({question!r}): its data, of type {type(data).__name__}, cannot be told from"
            " other data; give what can be (a list of names, a table, a text)"
        )
        raise UsageError(message)
    return digest_of("approval\0", question, "\0", about, item)


def _kept(desk: Desk, asked: Question, data: object) -> Question:
    """A new question in the store, with its data if that can be kept."""
    if data is None:
        return desk.ask(asked)
    session = desk.session
    asked = asked._replace(preview=shown(data))
    with session.store.writing():
        try:
            blob = session.store.put_blob(encoded(data, session.namespace))
            asked = asked._replace(blob=blob)
        except CaptureError as problem:
            why = str(problem).removeprefix(f"{RESULT}, ")
            tell(session, f"the data of the question {asked.question!r} is NOT kept: {why}")
        return desk.ask(asked)
