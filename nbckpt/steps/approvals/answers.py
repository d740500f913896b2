"""An answer as it comes from a door: which question it means, whether it can be, and its record."""

from __future__ import annotations

import getpass
import os
from socket import gethostname

from nbckpt.config.validate import require_text
from nbckpt.errors import NotFoundError, UsageError
from nbckpt.model import Record
from nbckpt.reports.questions import answered_text
from nbckpt.runtime import clock
from nbckpt.timeline.approvals import (
    APPROVAL,
    VERDICTS,
    Question,
    Questions,
)

MOMENT_S = 1e-6
"""An answer comes later than its question, whatever the clocks of two machines say."""


def require_verdict(verdict: str) -> None:
    """Raise unless `verdict` can be said to a question."""
    require_text(verdict, "an answer")
    if verdict not in VERDICTS:
        message = f"{verdict!r} is no answer: approve, refuse or withdraw"
        raise UsageError(message)


def meant(questions: Questions, which: str) -> Question:
    """The question with this id, or with one that begins so.

    Raises
    ------
    NotFoundError
        If there is none.
    UsageError
        If there are several.
    """
    require_text(which, "the id of a question")
    known = questions.all
    found = [question for i, question in known.items() if which and i.startswith(which)]
    if len(found) == 1 or which in known:
        return known.get(which) or found[0]
    if not found:
        waiting = ", ".join(f"{q.id} ({q.question!r})" for q in questions.waiting)
        there = f"waiting are {waiting}" if waiting else "none waits"
        message = f"no question {which!r}; {there}; `nbckpt approvals` lists all"
        raise NotFoundError(message)
    ids = ", ".join(question.id for question in found)
    message = f"{which!r} is the beginning of {len(found)} questions: {ids}"
    raise UsageError(message)


def require_open(question: Question, verdict: str) -> None:
    """Raise where an answer comes too late; what was answered can be withdrawn."""
    if question.state == "waiting" or (verdict == "withdraw" and question.state != "withdrawn"):
        return
    again = (
        "it is asked anew when its code runs"
        if question.state == "withdrawn"
        else f"`nbckpt answer {question.id} withdraw` has it asked anew"
    )
    message = f"{question.question!r} ({question.id}) was {answered_text(question)}; {again}"
    raise UsageError(message)


def answer_record(
    question: Question, verdict: str, text: str, through: str, session: str
) -> Record:
    """The record of an answer that is given now, by who runs this process."""
    record: Record = {
        "kind": APPROVAL,
        "id": question.id,
        "state": VERDICTS[verdict],
        "user": user(),
        "host": gethostname(),
        "through": through,
        "session": session,
        "at": max(clock.now(), question.asked_at + MOMENT_S),
    }
    return {**record, "text": text} if text else record


def user() -> str:
    """Name of the user who runs this process; the user's number where there is no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid()) if hasattr(os, "getuid") else ""
