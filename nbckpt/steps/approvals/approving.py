"""`nbckpt.approve`: go on when a person has said so, however long that takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

from nbckpt.errors import RefusedError, UnansweredError, UsageError
from nbckpt.llm import scope
from nbckpt.reports.questions import answered_text, command
from nbckpt.steps.approvals.approval import Approval
from nbckpt.steps.approvals.asked_question import AskedQuestion, begin
from nbckpt.steps.approvals.showing import show
from nbckpt.steps.execution.step_state import Shown
from nbckpt.timeline.approvals import Question

SOON_S = 0.1
LATE_S = 1.0
"""Seconds between looks at the store for others' answers, at most; they grow from `SOON_S`."""
ASLEEP_S = 0.02
"""Seconds that the loop of an async cell sleeps between looks for answers from this process."""


def approve(
    question: str,
    data: object = None,
    *,
    or_raise: bool = False,
    timeout_s: float | None = None,
) -> Approval:
    """Ask a person, and wait for the answer; true if it is approved.

    The question and its data are durable before anybody sees them. It is answered by its buttons
    in the notebook, at the prompt of a terminal, or by ``nbckpt answer ID approve`` from anywhere,
    also while no kernel runs. After a restart the cell asks the same question: what was answered
    is not asked again.

    An answer is of this question with this data, in this step (a cell with ``%%checkpoint``, a
    `with` block) or item of its loop, and of its how-manieth asking there, as a recorded model call
    is: it counts when the step runs again, on forks and after edits of other code, and is asked
    anew with ``--fresh``. With other data it is another question. Outside of steps an answer serves
    once.

    Parameters
    ----------
    question
        What is to be approved, in one sentence.
    data
        What it is about: shown in short, and kept as variables are. Give what decides: the names
        of the files, not their number.
    or_raise
        Raise if it is refused, instead of returning what is false.
    timeout_s
        How long to wait; the question stays, and can be answered later.

    Returns
    -------
    Approval
        True if approved; with `answered_by`, `at`, `text` (why) and so on.

    Raises
    ------
    RefusedError
        If it is refused, with `or_raise`.
    UnansweredError
        If nobody answers in time, or at all where nobody is to be waited for
        (``NBCKPT_APPROVALS=fail``).
    UsageError
        If no session is open, or `data` cannot be told from other data.

    Examples
    --------
    ::

        if nbckpt.approve(f"delete {len(paths)} files?", paths):
            delete(paths)
    """
    began = _timed(timeout_s)
    begun = begin(question, data)
    with _settled(begun):
        answered = begun.question
        if answered.state == "waiting":
            answered = _waited(begun, timeout_s, began)
    return _given(begun, answered, or_raise=or_raise)


async def approve_async(
    question: str,
    data: object = None,
    *,
    or_raise: bool = False,
    timeout_s: float | None = None,
) -> Approval:
    """Ask a person, as `approve` does, while the loop of an async cell goes on.

    Several may be asked at once, with `asyncio.gather`.
    """
    began = _timed(timeout_s)
    begun = begin(question, data)
    with _settled(begun):
        answered = begun.question
        if answered.state == "waiting":
            answered = await _awaited(begun, timeout_s, began)
    return _given(begun, answered, or_raise=or_raise)


def _timed(timeout_s: float | None) -> float:
    given: Any = timeout_s
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if given is not None and not (is_number and given >= 0):
        message = f"timeout_s is {timeout_s!r}: give seconds, 0 or more"
        raise UsageError(message)
    return time.monotonic()


@contextmanager
def _settled(begun: AskedQuestion) -> Iterator[None]:
    """Have a question that got no answer be the same when it is asked again."""
    try:
        yield
    except BaseException:
        begun.give_back()
        raise


def _waited(begun: AskedQuestion, timeout_s: float | None, began: float) -> Question:
    desk, question = begun.desk, begun.question
    _require_patience(begun)
    _require_time(begun, timeout_s, began)
    with desk.waiting_for(question) as came, _shown(begun) as shown:
        pause_s = SOON_S
        while (now := desk.state_of(question)).state == "waiting":
            _require_time(begun, timeout_s, began)
            shown.wait(came, _pause(pause_s, timeout_s, began))
            pause_s = min(pause_s * 1.1, LATE_S)
            desk.refresh()
        return now


async def _awaited(begun: AskedQuestion, timeout_s: float | None, began: float) -> Question:
    desk, question = begun.desk, begun.question
    _require_patience(begun)
    _require_time(begun, timeout_s, began)
    with desk.waiting_for(question) as came, _shown(begun) as shown:
        pause_s, looked = SOON_S, time.monotonic()
        while (now := desk.state_of(question)).state == "waiting":
            _require_time(begun, timeout_s, began)
            shown.wait(came, 0)
            await asyncio.sleep(ASLEEP_S)
            if time.monotonic() - looked >= pause_s:
                desk.refresh()
                pause_s, looked = min(pause_s * 1.1, LATE_S), time.monotonic()
        return now


@contextmanager
def _shown(begun: AskedQuestion) -> Iterator[Shown]:
    shown = show(begun.desk, begun.question)
    try:
        yield shown
    finally:
        shown.end(begun.desk.state_of(begun.question))


def _pause(pause_s: float, timeout_s: float | None, began: float) -> float:
    if timeout_s is None:
        return pause_s
    return max(0.0, min(pause_s, timeout_s - (time.monotonic() - began)))


def _require_patience(begun: AskedQuestion) -> None:
    """Raise where nobody is to be waited for."""
    mode = scope.here().mode
    if mode == "only" or begun.desk.session.settings.approvals == "fail":
        raise _unanswered(begun, "was not answered, and nobody is waited for")


def _require_time(begun: AskedQuestion, timeout_s: float | None, began: float) -> None:
    if timeout_s is not None and time.monotonic() - began >= timeout_s:
        raise _unanswered(begun, f"was not answered within {timeout_s:g} s")


def _unanswered(begun: AskedQuestion, why: str) -> UnansweredError:
    question = begun.question
    how = command(question, begun.desk.session.store.path)
    return UnansweredError(f"{question.question!r} {why}: `{how}`, then run this again")


def _given(begun: AskedQuestion, answered: Question, *, or_raise: bool) -> Approval:
    if answered.step is None:
        begun.desk.use(answered)
    if answered.state == "withdrawn":
        begun.give_back()
        message = (
            f"{answered.question!r} ({answered.id}) was {answered_text(answered)}: "
            "run this again to ask anew"
        )
        raise UnansweredError(message)
    begun.counted.note_answered(answered.id)
    if or_raise and answered.state == "refused":
        said = f": {answered.text}" if answered.text else ""
        again = f"`nbckpt answer {answered.id} withdraw` has it asked anew"
        message = f"{answered.question!r} was {answered_text(answered)}{said}; {again}"
        raise RefusedError(message)
    return Approval.of(answered)
