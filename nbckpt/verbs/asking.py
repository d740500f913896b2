"""Questions that notebooks wait on: approvals, answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.steps import current_session
from nbckpt.timeline.approvals import VERDICTS
from nbckpt.verbs.arguments import OF_STORE, QUESTION, Door, argument, flag
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.registry import READS, at, declare

if TYPE_CHECKING:
    from nbckpt.steps.approvals.approval import Approval
    from nbckpt.timeline.approvals import Question


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
    from nbckpt.steps.approvals.approval import Approval
    from nbckpt.steps.approvals.desk import desk_of

    questions = desk_of(current_session.session()).all()
    return [Approval.of(q) for q in questions if q.state == "waiting" or not waiting]


@declare(
    "approvals",
    "what notebooks have asked, and who answered what",
    flag("--waiting", help="only what nobody has answered"),
    *OF_STORE,
    function=approvals,
)
def _approvals(call: Call) -> Answer:
    from nbckpt.reports import questions as telling
    from nbckpt.steps.approvals.desk import desk_of

    waiting = call.arguments.waiting
    found = [q for q in desk_of(call.session).all() if q.state == "waiting" or not waiting]
    return Answer(
        lambda: telling.table(found, width=call.width, waiting=waiting),
        lambda: [telling.as_json(question) for question in found],
    )


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
    from nbckpt.steps.approvals.approval import Approval
    from nbckpt.steps.approvals.desk import desk_of

    said = {True: "approve", False: "refuse"}[verdict] if isinstance(verdict, bool) else verdict
    i = which.id if isinstance(which, Approval) else which
    desk = desk_of(current_session.session())
    return Approval.of(desk.answer(i, said, str(text), through="python"))


@declare(
    "answer",
    "answer what a notebook waits for",
    argument("id", metavar="ID", help="of the question, or the beginning of it", names=QUESTION),
    argument(
        "verdict", metavar="ANSWER", help="approve, refuse or withdraw", names=tuple(VERDICTS)
    ),
    argument("text", metavar="TEXT", nargs="*", help="why", is_rest=True),
    *OF_STORE,
    function=answer,
    panel=READS,
    writes=True,
    usage="ID approve|refuse|withdraw [TEXT]",
    more="""\
Who waits goes on at once; where no kernel runs, the answer counts when the cell runs again.
`withdraw`: the question and its answer count no more, and it is asked anew.

  nbckpt answer 3f2a approve looks right""",
)
def _answer(call: Call) -> Answer:
    from nbckpt.reports import questions as telling

    done = _answered(call)
    return Answer(lambda: telling.outcome_text(done), lambda: telling.as_json(done))


@at(Door.PANEL, "answer")
def _answer_in_panel(call: Call) -> Answer:
    """No write: who asked waits for it while its cell runs, and no variable is touched."""
    from nbckpt.reports.questions import outcome_text

    done = _answered(call)
    return Answer(record=lambda: {"text": outcome_text(done)})


def _answered(call: Call) -> Question:
    from nbckpt.steps.approvals.desk import desk_of

    asked = call.arguments
    verdict, text = asked.verdict.lower(), asked.text.strip()
    return desk_of(call.session).answer(asked.id, verdict, text, through=call.through)
