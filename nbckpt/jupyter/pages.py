"""The pages that look at one notebook: what they are told, and the answers to what they ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nbckpt.errors import UsageError
from nbckpt.jupyter import questions
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.page_requests import refusal, writes
from nbckpt.jupyter.views import Views
from nbckpt.reports.timeline_rows import Listed, Row
from nbckpt.runtime.user_code_errors import user_code_errors

if TYPE_CHECKING:
    from nbckpt.jupyter.page_requests import Answer, Args

HELLO, MARKS = "hello", "marks"
SHAPE = "a request is an object with 'id', 'op' and 'args', which is an object, too"


class Pages:
    """Those of one session: one view of its timeline, for all of them.

    Parameters
    ----------
    send
        Sends an event to all pages.
    versions
        Those of nbckpt and of its protocol, which the answer to ``hello`` gives.

    Attributes
    ----------
    views
        Where it is one of several.
    """

    def __init__(
        self,
        cells: Cells,
        send: Callable[[Mapping[str, Any]], None],
        versions: Mapping[str, object],
    ) -> None:
        self.views = Views.of(cells)
        self._send = send
        self._versions = versions
        self._revision = 0
        self._rows: dict[str, Row] = {}
        self._older = 0
        self._status: dict[str, Any] = {}
        self._marks: dict[str, Any] = {}
        self._approvals: list[dict[str, Any]] = []
        self._open: set[str] = set()

    def admit(self, comm: Any) -> None:
        """Answer what comes over a page's comm, until the page closes it."""
        self._open.add(comm.comm_id)
        self.views.add(self)
        comm.on_close(lambda _: self._dismiss(comm))
        # Its own way round a message tells IPython that something was executed. On the thread of
        # a subshell that would show, and close, the figures of a cell that is drawing them.
        comm.handle_msg = lambda message: self._heard(comm, message)

    def _dismiss(self, comm: Any) -> None:
        """Note that a page has gone; where nobody looks nothing need be told."""
        self._open.discard(comm.comm_id)
        self.views.kept_marks.forget(comm.comm_id)
        if not self._open:
            self.views.forget(self)

    # -- events

    def show(self, listed: Listed, status: Mapping[str, Any]) -> None:
        """Tell all pages what is new."""
        event = self._news(listed)
        if event is not None:
            self._send({**event, "status": dict(status)})
        elif {**self._status, "now": 0} != {**status, "now": 0}:
            self._send({"event": "status", "status": dict(status)})
        self._status = dict(status)
        marks = self.views.marks(status["busy"])
        if marks != self._marks:
            self._marks = marks
            self._send({"event": "marks", "marks": marks})
        approvals = questions.waiting(self.views.cells.session)
        if approvals != self._approvals:
            self._approvals = approvals
            self._send({"event": "approvals", "approvals": approvals})

    def _news(self, listed: Listed) -> dict[str, Any] | None:
        """Event that reports new, changed and gone rows; None if they are as they were."""
        before, since = self._rows, self._revision
        rows = {row["id"]: row for row in listed.rows}
        changed = [row for i, row in rows.items() if before.get(i) is not row]
        gone = [i for i in before if i not in rows]
        if not changed and not gone and self._older == listed.older:
            return None
        self._rows, self._older, self._revision = rows, listed.older, since + 1
        told = {"revision": self._revision, "older": listed.older}
        # Who puts the new ones at the end of the others has the rows in their order.
        order = [
            *(i for i in before if i in rows),
            *(r["id"] for r in changed if r["id"] not in before),
        ]
        if order != list(rows):
            return {"event": "rows", "rows": listed.rows, **told}
        return {"event": "changed", "since": since, "rows": changed, "gone": gone, **told}

    # -- requests

    def _heard(self, comm: Any, message: Mapping[str, Any]) -> None:
        """Answer one message; on the thread where it came."""
        request = message.get("content", {}).get("data")
        number = request.get("id") if isinstance(request, Mapping) else None

        def reply(answer: Answer) -> None:
            answer = {"id": number, **answer}
            try:
                comm.send(answer)
            except user_code_errors() as error:  # what no JSON can tell
                text = f"the answer cannot be sent, by a defect in nbckpt: {error}"
                comm.send({"id": number, **refusal(text, type(error).__name__)})

        args = request.get("args") or {} if isinstance(request, Mapping) else None
        if not isinstance(request, Mapping) or not isinstance(args, Mapping):
            reply(refusal(SHAPE, UsageError.__name__))
            return
        op = str(request.get("op"))
        if op in (HELLO, MARKS):
            page = comm.comm_id
            job = self._hello if op == HELLO else lambda: self._answer_marks(page, args)
            with self.views.alone():  # no event may overtake it
                reply(self.views.panel.guarded(op, job))
            return
        reply(self._answer(op, args))

    def _answer(self, op: str, args: Args) -> Answer:
        if op in writes():
            text = f"{op!r} changes the notebook's variables: ask for it by an execute_request"
            return refusal(text, UsageError.__name__)
        return self.views.panel.answer(op, args)

    def _hello(self) -> Answer:
        """All that events tell of."""
        listed, status = self.views.now()
        self.show(listed, status)
        return {
            **self._versions,
            "revision": self._revision,
            "rows": listed.rows,
            "older": listed.older,
            "status": status,
            "marks": self._marks,
            "approvals": self._approvals,
            "notebook": self.views.cells.session.notebook,
        }

    def _answer_marks(self, page: str, args: Args) -> Answer:
        """The marks; by the order and the texts of the notebook's cells, if the page tells them."""
        cells, texts = args.get("cells"), args.get("texts")
        if isinstance(cells, list):
            numbers = texts if isinstance(texts, list) else []
            self.views.kept_marks.arrange(
                [str(cell_id) for cell_id in cells],
                [n if isinstance(n, int) else None for n in numbers],
                page=page,
                notebook=str(args.get("notebook") or ""),
            )
        self.show(*self.views.now())
        return {"marks": self._marks}
