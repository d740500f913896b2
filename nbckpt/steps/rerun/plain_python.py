"""Recorded code without IPython: compiled, and run in the session's namespace."""

from __future__ import annotations

import ast
import linecache
from types import CodeType

from nbckpt.errors import UsageError
from nbckpt.model import Checkpoint
from nbckpt.runtime.interrupts import allowed, held
from nbckpt.runtime.source_trees import parse
from nbckpt.session.history.recorded_cells import Recorded, without_marker
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.step import Step


class Plainly:
    """Runs recorded code as Python runs a script; what it prints goes where prints go."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def tell(self, text: str) -> None:
        """Nothing: a script says what it wants to be said."""

    def confirm(self, question: str) -> bool | None:
        """Nobody is asked."""
        del question
        return None

    def show(self, checkpoint: Checkpoint, took_s: float) -> None:
        """Nothing either: without IPython no outputs were recorded."""

    async def run(self, recorded: Recorded, request: Request | None) -> BaseException | None:
        """Run one piece; the error that it ended with."""
        try:
            with held():
                tree, code = _compiled(recorded)
                if request is None:
                    self._run_unkept(recorded, tree, code)
                else:
                    step = Step.begin(self._session, request, recorded.cell, tree)
                    if step.todo:
                        self._run_step(step, code)
        except (Exception, KeyboardInterrupt) as error:  # the recorded code's own, or of its step
            return error
        return None

    def _run_unkept(self, recorded: Recorded, tree: ast.Module, code: CodeType) -> None:
        session = self._session
        reach = session.workspace.reach(tree)
        session.workspace.tracker.touched(reach)  # for blocks in it
        session.workspace.runs(tree)
        try:
            self._execute(code)
        finally:
            session.workspace.tracker.touched(reach)
            session.workspace.ran(tree)
        if recorded.kind == "joined":
            session.pending_cells.ran(recorded.name, recorded.cell, 0.0)

    def _run_step(self, step: Step, code: CodeType) -> None:
        try:
            self._execute(code)
        except BaseException as error:
            step.fail(error)
            raise
        step.finish()

    def _execute(self, code: CodeType) -> None:
        with allowed():
            exec(code, self._session.namespace)  # the user's own code, in the user's namespace


def _compiled(recorded: Recorded) -> tuple[ast.Module, CodeType]:
    """The code of a piece; blocks in it find their source by the name of its file."""
    source = without_marker(recorded.cell.source)
    file = f"<recorded {recorded.name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        tree = parse(source)
        return tree, compile(tree, file, "exec")
    except SyntaxError as problem:
        message = (
            f"it is no plain Python ({problem.msg}): magics and top-level `await` "
            "need the notebook's kernel"
        )
        raise UsageError(message) from None
