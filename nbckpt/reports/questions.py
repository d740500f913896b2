"""Questions and answers as text, and as JSON for programs."""

from __future__ import annotations

import datetime as dt
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.text.escape import on_a_line
from nbckpt.text.tables import Column, table_text
from nbckpt.text.units import age_text
from nbckpt.timeline.approvals import APPROVAL, Question, Questions

if TYPE_CHECKING:
    from nbckpt.storage.store import Store

SHOWN = 160
"""Characters of data that a line shows."""

_COLUMNS = (
    Column("id"),
    Column("question"),
    Column("about"),
    Column("step"),
    Column("asked", right=True),
    Column("answer"),
    Column("said"),
)


def answered_text(question: Question, *, now: float | None = None) -> str:
    """`approved by sam 3 min ago`."""
    by = f" by {question.user}" if question.user else ""
    if question.answered_at is None:
        return question.state
    at = clock.now() if now is None else now
    return f"{question.state}{by} {age_text(max(0.0, at - question.answered_at))}"


def outcome_text(question: Question) -> str:
    """The line that is left below a cell that has its answer."""
    at = "" if question.answered_at is None else f" at {_clock(question.answered_at)}"
    by = f" by {question.user}" if question.user else ""
    said = f", “{question.text}”" if question.text else ""
    return on_a_line(f"{question.state}{by}{at} ({question.through}){said}: {question.question}")


def command(question: Question, store: Path) -> str:
    """The command to type elsewhere to answer."""
    return f"nbckpt answer {question.id} approve|refuse --store {shlex.quote(str(store))}"


def waits_text(question: Question, store: Path) -> str:
    """A line for people without buttons: the question that waits, and the command that answers."""
    about = f" ({_shown(question.preview)})" if question.preview else ""
    asked = f"waits for an answer: {question.question}{about} · {command(question, store)}"
    return on_a_line(asked)


def told_by(record: Record, store: Store, session: str) -> str:
    """A line if a record tells that `session` begins to wait for an answer; else empty."""
    if record["kind"] != APPROVAL or record.get("session") != session:
        return ""
    question = Questions(store.records(APPROVAL)).all.get(record["id"])
    if question is None or not question.state == record.get("state") == "waiting":
        return ""
    return waits_text(question, store.path)


def table(questions: Sequence[Question], *, width: int | None = None, waiting: bool = False) -> str:
    """Questions, one a line; `waiting` says that these are all that wait."""
    if not questions:
        return "nothing waits for an answer" if waiting else "nothing was asked"
    now = clock.now()
    rows = [
        (
            q.id,
            q.question,
            _shown(q.preview),
            q.step or "",
            age_text(max(0.0, now - q.asked_at)),
            answered_text(q, now=now),
            q.text,
        )
        for q in questions
    ]
    return table_text(_COLUMNS, rows, width=width)


def as_json(question: Question) -> dict[str, object]:
    """A question for programs: times in UTC."""
    answered_at = question.answered_at
    return {
        "id": question.id,
        "question": question.question,
        "preview": question.preview,
        "state": question.state,
        "text": question.text,
        "answered_by": question.user,
        "host": question.host,
        "through": question.through,
        "asked_at": _iso(question.asked_at),
        "answered_at": None if answered_at is None else _iso(answered_at),
        "step": question.step,
        "occurrence": question.occurrence,
        "checkpoint": question.position,
        "branch": question.branch,
        "notebook": question.notebook,
        "cell_id": question.cell_id,
    }


def _shown(preview: str) -> str:
    """Preview of the data that a question is about, in one line."""
    text = " · ".join(preview.splitlines())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _iso(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
