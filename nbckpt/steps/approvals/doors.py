"""The calls about questions: list them, answer one."""

from __future__ import annotations

from nbckpt.steps import current_session
from nbckpt.steps.approvals.approval import Approval
from nbckpt.steps.approvals.desk import desk_of


def approvals(*, waiting: bool = False) -> list[Approval]:
    """The questions that `nbckpt.approve` has asked, with their answers; the newest first.

    Parameters
    ----------
    waiting
        Only those that nobody has answered.

    Raises
    ------
    UsageError
        If no session is open.
    """
    questions = desk_of(current_session.session()).all()
    return [Approval.of(q) for q in questions if q.state == "waiting" or not waiting]


def answer(which: str | Approval, verdict: str | bool, text: str = "") -> Approval:
    """Answer a question that waits; who waits for it goes on.

    Parameters
    ----------
    which
        Its id, or the beginning of that; or what `approvals` gave.
    verdict
        ``"approve"`` or True, ``"refuse"`` or False; or ``"withdraw"``: the question and its
        answer count no more, and it is asked anew when its code runs.
    text
        Why, or whatever else the code that asked wants to know.

    Raises
    ------
    NotFoundError
        If there is no such question.
    UsageError
        If it was answered already, or `verdict` is none of these.

    Examples
    --------
    ``nbckpt.answer("3f2a", "approve", "looks right")``
    """
    said = {True: "approve", False: "refuse"}[verdict] if isinstance(verdict, bool) else verdict
    i = which.id if isinstance(which, Approval) else which
    desk = desk_of(current_session.session())
    return Approval.of(desk.answer(i, said, str(text), through="python"))
