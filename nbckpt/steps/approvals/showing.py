"""Display of a question, and the wait for its answer: a line where nobody can be asked."""

from __future__ import annotations

import sys
import threading

from nbckpt.reports.questions import waits_text
from nbckpt.steps.approvals.desk import Desk
from nbckpt.steps.execution.step_state import Shown, StepState
from nbckpt.timeline.approvals import Question


class Line:
    """One line that says what waits, and how to answer."""

    def __init__(self, desk: Desk, question: Question) -> None:
        sys.stderr.write(f"nbckpt: {waits_text(question, desk.session.store.path)}\n")
        sys.stderr.flush()

    def wait(self, came: threading.Event, seconds: float) -> None:
        """Wait."""
        came.wait(seconds)

    def end(self, question: Question) -> None:
        """Nothing more is said."""


def show(desk: Desk, question: Question) -> Shown:
    """A question, shown by the shell of the session, or in the terminal, or in a line."""
    asker = desk.session.state(StepState).asker
    if asker is not None:
        return asker(desk.session, question)
    from nbckpt.steps.approvals.terminal import Prompt, can_prompt

    return Prompt(desk, question) if can_prompt() else Line(desk, question)
