"""Requests of a timeline's views, and the answers: the one place that speaks their protocol.

The widget asks through this, and anything else that shows a timeline. Reads are answered on any
thread; writes change the namespace, so a caller sees to it that no cell runs
(`nbckpt.jupyter.turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError, UsageError
from nbckpt.jupyter import checkpoint_magic  # noqa: F401  # it declares a verb
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.page_verbs import PanelCall
from nbckpt.reports.glances import Glances
from nbckpt.reports.timeline_rows import status_of
from nbckpt.reports.totals import Totals
from nbckpt.runtime import clock
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.session import Session
from nbckpt.text.commands import in_notebook
from nbckpt.verbs.arguments import Door
from nbckpt.verbs.parsing import parsed_request
from nbckpt.verbs.registry import operations

Args: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = dict[str, Any]


def writes() -> frozenset[str]:
    """The operations that change the notebook."""
    return frozenset(op for op, (_, operation) in operations().items() if operation.writes)


class Panel:
    """Answers for one session."""

    def __init__(self, session: Session, shell: InteractiveShell, cells: Cells) -> None:
        self._session = session
        self._shell = shell
        self._cells = cells
        self._totals = Totals(session)
        self._glances = Glances(session)

    @property
    def is_open(self) -> bool:
        """True if nbckpt still follows the shell's cells for this session."""
        return self._cells.transform in self._shell.input_transformers_cleanup

    def status(self, busy: Args | None = None) -> Answer:
        """Where the session stands, now."""
        totals = self._totals.now()
        return status_of(self._session, now=clock.now(), busy=busy, totals=totals)

    def answer(self, op: str, args: Args) -> Answer:
        """`{"ok": True, "result": …}`, or `{"ok": False, "error": …}` with one sentence.

        Parameters
        ----------
        op
            What is asked; one of `writes` only on the main thread, and while no cell runs.
        args
            Its arguments, as they came from outside.
        """
        return self.guarded(op, lambda: self._do(op, args))

    def _do(self, op: str, args: Args) -> Answer:
        known = operations()
        if op not in known:
            message = f"{op!r} is nothing that can be asked here: {', '.join(known)} are"
            raise UsageError(message)
        verb, operation = known[op]
        if operation.writes:
            self._session.workspace.running = None  # as a call from outside a cell
            self._cells.steps.again.clear()
        arguments = parsed_request(verb, operation, args)
        done = verb.does_at(Door.PANEL)(PanelCall(arguments, self._cells, self._glances))
        if not operation.writes:
            record: Answer = {} if done.record is None else done.record()
            return record
        answer = {**done.members, "text": in_notebook(done.text() if done.text else "")}
        if done.checkpoint is not None:
            answer["checkpoint"] = done.checkpoint
        return {**answer, "status": self.status()}

    def guarded(self, op: str, job: Callable[[], Answer]) -> Answer:
        """Return the result of `job` as an answer to `op`, or the reason why it has none."""
        try:
            self._require_open()
            return {"ok": True, "result": job()}
        except NbckptError as problem:
            return refusal(str(problem), type(problem).__name__)
        except KeyboardInterrupt:
            return refusal(f"{op} was interrupted", "KeyboardInterrupt")
        except user_code_errors() as error:  # a view never breaks the kernel
            text = f"{op} failed by a defect in nbckpt: {type(error).__name__}: {error}"
            return refusal(text, type(error).__name__)

    def _require_open(self) -> None:
        if not self.is_open:
            message = "nbckpt is not loaded any more: `%load_ext nbckpt`, then `%timeline`"
            raise UsageError(message)


def refusal(text: str, kind: str) -> Answer:
    """The answer to what cannot be done."""
    return {"ok": False, "error": in_notebook(text), "kind": kind}
