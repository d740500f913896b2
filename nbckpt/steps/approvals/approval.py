"""Result of `nbckpt.approve`: true if approved, with the answer, its author, time and channel."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from nbckpt.digests import Digest
from nbckpt.errors import NOT_YOURS, TRUST_IT, UntrustedError
from nbckpt.steps import current_session
from nbckpt.timeline.approvals import Question, State


@dataclass(frozen=True)
class Approval:
    """A question to a person, and what became of it; true if it was approved.

    Attributes
    ----------
    id
        By which it is answered.
    preview
        What its data looks like; empty if there is none.
    state
        ``waiting``, ``approved``, ``refused`` or ``withdrawn``.
    text
        What was said with the answer.
    answered_by, host
        The user who answered, and on which machine; empty while it waits.
    through
        By which door: ``notebook``, ``sidebar``, ``prompt``, ``magic``, ``python``, ``command``.
    asked_at, at
        When it was asked, and answered (UTC); `at` is None while it waits.
    step
        Name of the step that asked; None outside of steps.
    """

    id: str
    question: str
    preview: str
    state: State
    text: str
    answered_by: str
    host: str
    through: str
    asked_at: dt.datetime
    at: dt.datetime | None
    step: str | None
    branch: str
    notebook: str
    _blob: Digest | None = None
    _trusted: bool = True

    @classmethod
    def of(cls, question: Question) -> Approval:
        """Approval with the current state of a question."""
        answered_at = question.answered_at
        return cls(
            id=question.id,
            question=question.question,
            preview=question.preview,
            state=question.state,
            text=question.text,
            answered_by=question.user,
            host=question.host,
            through=question.through,
            asked_at=_time(question.asked_at),
            at=None if answered_at is None else _time(answered_at),
            step=question.step,
            branch=question.branch,
            notebook=question.notebook,
            _blob=question.blob,
            _trusted=question.trusted,
        )

    def __bool__(self) -> bool:
        return self.state == "approved"

    @property
    def data(self) -> object:
        """A new copy of what was asked about; None if there is none, or it could not be kept.

        Raises
        ------
        UsageError
            If no session is open.
        UntrustedError
            If the user neither asked the question nor trusts who did.
        BlobNotFoundError, FormatError
            If the store has lost it.
        """
        if self._blob is None:
            return None
        if not self._trusted:
            message = f"the data of {self.question!r} {NOT_YOURS}, so it is not built: {TRUST_IT}"
            raise UntrustedError(message)
        from nbckpt.steps.calls.results import decoded

        session = current_session.session()
        parts = session.store.get_blob(self._blob)
        return decoded(parts, session.namespace, trusted=self._trusted)

    def __repr__(self) -> str:
        by = f" by {self.answered_by}" if self.answered_by else ""
        said = f": {self.text}" if self.text else ""
        return f"<{self.question!r} {self.state}{by}{said}>"


def _time(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
