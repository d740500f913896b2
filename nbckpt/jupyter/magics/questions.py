"""The words of `%nbckpt` about questions that cells wait on: approvals, answer."""

from __future__ import annotations

from nbckpt.jupyter import notices
from nbckpt.jupyter.magics import lines
from nbckpt.reports import questions as telling
from nbckpt.session.session import Session
from nbckpt.steps.approvals.desk import desk_of


def approvals(session: Session, line: str, width: int) -> None:
    """Tell what was asked, and who answered what."""
    _, given = lines.parted(line, "%nbckpt approvals [--waiting]", 0, 0, ("--waiting",))
    questions = [q for q in desk_of(session).all() if q.state == "waiting" or not given]
    notices.notify(telling.table(questions, width=width, waiting=bool(given)))


def answer(session: Session, line: str) -> None:
    """Answer a question: its id, what is said, and why."""
    usage = "%nbckpt answer ID approve|refuse|withdraw [TEXT]"
    words, _ = lines.parted(line, usage, 2, 1000)
    which, verdict, *text = words
    answered = desk_of(session).answer(which, verdict.lower(), " ".join(text), through="magic")
    notices.notify(telling.outcome_text(answered))
