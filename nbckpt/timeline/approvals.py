"""Questions to people and their answers, as the records of kind `approval` tell them. Pure.

A question is one record; its answer is another, which another process may have written; that it
is asked again after a restart, and that an answer was used outside of steps, are others. They come
in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from nbckpt.digests import Digest
from nbckpt.model import Record, is_trusted

APPROVAL = "approval"
State: TypeAlias = Literal["waiting", "approved", "refused", "withdrawn"]
VERDICTS: Mapping[str, State] = {
    "approve": "approved",
    "refuse": "refused",
    "withdraw": "withdrawn",
}
"""Verdict on a question → state of the question from then on."""


class Question(NamedTuple):
    """A question, and what became of it.

    Attributes
    ----------
    request
        Digest of the question and its data.
    occurrence
        How many equal ones the step had asked before.
    step
        Name of the step that asks; None outside of steps.
    position
        Id of the checkpoint that the session stood on; None in a new process.
    preview
        What its data looks like; empty if there is none.
    blob
        The data as it was captured; None if there is none, or if it could not be kept.
    state
        ``waiting`` until somebody answers; ``withdrawn``: it counts no more, and is asked anew.
    text
        What was said with the answer.
    user, host, through, answered_at
        Who answered, on which machine, by which door, and when.
    session
        Who asked it, and of several who asked it again the last.
    is_used
        Whether code outside of steps has had the answer: there it serves once.
    trusted
        Whether the question is of the user's own: what is asked in another's may not be what is
        shown.
    """

    id: str
    question: str
    request: Digest
    occurrence: int
    step: str | None
    position: str | None
    session: str
    branch: str
    notebook: str
    cell_id: str | None
    asked_at: float
    preview: str = ""
    blob: Digest | None = None
    state: State = "waiting"
    text: str = ""
    user: str = ""
    host: str = ""
    through: str = ""
    answered_at: float | None = None
    is_used: bool = False
    trusted: bool = True


_ASKED = Question._fields[: Question._fields.index("state")]
Place: TypeAlias = tuple[str | None, Digest, int]


def place_of(question: Question) -> Place:
    """Place by which a question is found again: its step, request, and number among its equals."""
    return question.step, question.request, question.occurrence


def again_record(question: Question, session: str, at: float) -> Record:
    """The record that says who waits for a question now."""
    return {
        "kind": APPROVAL,
        "id": question.id,
        "state": "waiting",
        "again": True,
        "session": session,
        "at": at,
    }


def asked_record(question: Question) -> Record:
    """The record of a question that is asked."""
    members = {name: getattr(question, name) for name in _ASKED}
    at = members.pop("asked_at")
    known = {name: value for name, value in members.items() if value not in (None, "")}
    return {"kind": APPROVAL, **known, "state": "waiting", "at": at}


class Questions:
    """The questions of a store, by id."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.all: dict[str, Question] = {}
        self._answers: dict[str, Record] = {}
        self._used: set[str] = set()
        self._again: dict[str, str] = {}
        for record in records:
            self.take(record)

    def take(self, record: Record) -> None:
        """Know one more record; the same again does no harm."""
        i = record.get("id")
        if not isinstance(i, str):
            return
        trusted = is_trusted(record)
        if record.get("state") == "waiting" and not record.get("again"):
            question = _asked(record)
            if question is not None and (i not in self.all or self._is_forged(i, trusted)):
                self.all[i] = question
        elif not trusted:
            return  # nobody else answers, and nobody else says that an answer was used
        elif record.get("used"):
            self._used.add(i)
        elif record.get("again"):
            self._again[i] = record["session"]
        elif record.get("state") in VERDICTS.values():
            known = self._answers.get(i)
            if known is None or _counts_before(record, known):
                self._answers[i] = record
        if i in self.all:
            asked = self.all[i]._replace(
                session=self._again.get(i, self.all[i].session), is_used=i in self._used
            )
            self.all[i] = _answered(asked, self._answers.get(i))

    def _is_forged(self, i: str, trusted: bool) -> bool:
        """True if what is known under an id is another's, and this is the user's."""
        return trusted and not self.all[i].trusted

    def at(self, place: Place) -> list[Question]:
        """The questions that were asked at a place."""
        return [question for question in self.all.values() if place_of(question) == place]

    @property
    def waiting(self) -> list[Question]:
        """Those that nobody has answered, oldest first."""
        waiting = (question for question in self.all.values() if question.state == "waiting")
        return sorted(waiting, key=lambda question: question.asked_at)


def _counts_before(record: Record, known: Record) -> bool:
    """Of two answers the first counts; but what is withdrawn stays so."""
    if (record["state"] == "withdrawn") != (known["state"] == "withdrawn"):
        return bool(record["state"] == "withdrawn")
    return bool(record["at"] < known["at"])


def _asked(record: Record) -> Question | None:
    members = {name: record[name] for name in _ASKED if name in record}
    nothing = {"step": None, "position": None, "cell_id": None, "branch": "", "notebook": ""}
    try:
        return Question(
            **{
                **nothing,
                "session": "",
                **members,
                "asked_at": record["at"],
                "trusted": is_trusted(record),
            }
        )
    except (KeyError, TypeError):  # of a later version
        return None


def _answered(question: Question, answer: Record | None) -> Question:
    if answer is None:
        return question
    return question._replace(
        state=answer["state"],
        text=answer.get("text", ""),
        user=answer.get("user", ""),
        host=answer.get("host", ""),
        through=answer.get("through", ""),
        answered_at=answer["at"],
    )
