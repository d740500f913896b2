"""The buttons of a question: a widget that says what was pressed, while the cell waits."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import traitlets

from nbckpt.errors import NbckptError
from nbckpt.jupyter.quiet import QuietWidget
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.steps.approvals.desk import Desk
from nbckpt.timeline.approvals import Question


class ApprovalWidget(QuietWidget):
    """State in the front end's model, and the messages that it sends.

    Attributes
    ----------
    question_id, question, preview
        The texts that are shown; never set by the front end.
    is_shown
        Set when a front end has said that it shows the buttons.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    question_id = traitlets.Unicode().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    preview = traitlets.Unicode().tag(sync=True)

    def __init__(self, desk: Desk, question: Question, code: str) -> None:
        self._desk = desk
        self.is_shown = threading.Event()
        self._came: set[object] = set()
        super().__init__(
            _esm=code,
            question_id=question.id,
            question=question.question,
            preview=question.preview,
        )

    def data(self) -> dict[str, object]:
        """MIME data that shows the widget in a front end; empty if there is none."""
        bundle = self._repr_mimebundle_()
        return {} if bundle is None else dict(bundle[0])

    def _handle_custom_msg(self, content: object, buffers: object) -> None:  # noqa: ARG002
        """Take an answer; on the thread where it came."""
        if not isinstance(content, Mapping):
            return
        if (number := content.get("number")) is not None:  # it is sent until it is said to be here
            self.send({"came": number})
            if number in self._came:
                return
            self._came.add(number)
        if content.get("op") == "shown":
            self.is_shown.set()
        if content.get("op") != "answer":
            return
        verdict, text = str(content.get("verdict")), str(content.get("text") or "")
        try:
            self._desk.answer(self.question_id, verdict, text, through="notebook")
        except NbckptError as problem:
            self.send({"error": str(problem)})
        except user_code_errors() as error:  # the page is told; the cell waits on
            self.send({"error": f"a defect in nbckpt: {type(error).__name__}: {error}"})
