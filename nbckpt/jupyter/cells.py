"""Handling of each cell: restore it or run it, then checkpoint its effects.

``%%checkpoint`` is not run as a magic around a string: an input transformer leaves the cell's own
lines where they are behind a marker, so that tracebacks, magics, top-level `await` and the result
of the last line are those of any other cell. The decision falls when the cell has been parsed and
before it runs.
"""

from __future__ import annotations

import ast
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError, NotebookError, UsageError
from nbckpt.fingerprint.values.plain import remembered_looks
from nbckpt.jupyter import marking, notices
from nbckpt.jupyter.callbacks import BackgroundChanges, touched_by_callbacks, touched_by_pages
from nbckpt.jupyter.cell_interrupts import (
    Interrupted,
    callback,
    end_cell,
    is_inside,
    is_missed,
    is_of_cell,
    is_outermost,
)
from nbckpt.jupyter.cell_steps import CellSteps
from nbckpt.jupyter.given_cells import GivenCells
from nbckpt.jupyter.running_cell import NO_CODE, CellOverride, RunningCell
from nbckpt.runtime.interrupts import allowed, held
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_state import StepState

# What only cells need is imported by the first of them, not by `%load_ext` and `%resume`.
if TYPE_CHECKING:
    from nbckpt.steps.step import Step

_QUIET = ast.fix_missing_locations(ast.Module([ast.Expr(ast.Constant(";"))], [])).body[0]


def _error_of(result: Any) -> BaseException | None:
    """Error that ended a cell early, or None; `NotebookError` if IPython gave no result."""
    if result is None:
        return NotebookError("how it ended is not known")
    error: BaseException | None = result.error_in_exec or result.error_before_exec
    return error


class Cells:
    """Follows the cells of one shell, for one session.

    Attributes
    ----------
    steps
        The steps of its cells.
    loads
        IPython's word of the cell that loads nbckpt, of whose beginning it did not tell.
    """

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self.shell = shell
        self.session = session
        self.steps = CellSteps(shell, session)
        self.loads: Any = None
        self._cell = RunningCell()
        self._n_inner = 0  # cells that run inside the one that is followed
        self._background = BackgroundChanges(session)
        self._given = GivenCells(shell, session)
        self._is_unseen_told = False
        self._may_be_loading = True
        session.workspace.guards_blocks = True
        session.state(StepState).confirms = self._confirm

    @property
    def running(self) -> Any:
        """IPython's word of the cell that runs; None if none does."""
        return self._cell.info or self.loads

    # -- IPython calls these ------------------------------------------------------------------

    def transform(self, lines: list[str]) -> list[str]:
        """The lines of a cell, its `%%checkpoint` line turned into a marker.

        Of what another magic runs (`%%time`), a comment is none.
        """
        is_part = self._cell.tree is not None and is_inside()
        return (
            lines if is_part and marking.is_comment("".join(lines)) else marking.transformed(lines)
        )

    @callback
    def before(self, info: Any) -> None:
        """Remember the cell that is about to run (the event `pre_run_cell`)."""
        self._may_be_loading = False
        thread, cell = threading.get_ident(), self._cell
        if cell.info is not None and cell.thread == thread and is_outermost():
            self._after(None)  # an interrupt kept IPython from telling of its end
        if self._cell.info is None:
            self._cell = replace(self._cell, info=info, thread=thread)
            self._given.begins()
            self._notify_news()

    def visit(self, tree: ast.Module) -> ast.Module:
        """Decide what to do with a parsed cell; what is left of it is run."""
        try:
            with held():
                if is_missed():
                    raise KeyboardInterrupt
                with remembered_looks():
                    return self._decide(tree)
        except KeyboardInterrupt:
            message = "before the cell ran"
            raise Interrupted(message) from None

    def _decide(self, tree: ast.Module) -> ast.Module:
        session = self.session
        if self._cell.info is None or self._cell.tree is not None:
            session.workspace.ran(tree)  # a hidden request, or a cell that runs a cell
            session.workspace.running = session.workspace.running or tree
            return tree
        line = marking.marked(tree)
        if line is not None:
            tree.body = tree.body[1:]
        own = ast.Module(list(tree.body), [])
        self._cell = replace(self._cell, tree=own, acting=own)
        session.workspace.running = own
        if self._cell.info.raw_cell.rstrip().endswith(";"):  # one that shows nothing is another one
            own.body.append(_QUIET)
        if marking.is_our_own(own):  # none of the user's code: it changes no variable
            session.workspace.running = ast.Module([], [])
        self._background.note()
        session.moved = False
        if self._is_left_out():
            tree.body = []
            return tree
        from nbckpt.jupyter.guards import Guard

        Guard(session.namespace).guarded(tree)
        request, is_explicit = self.steps.request(self._cell, line)
        n_modules = len(sys.modules)
        if request is not None:
            self._cell = self.steps.begin(self._cell, request, explicit=is_explicit)
        step = self._cell.step
        if step is None:
            self.steps.make_again(own)
            session.workspace.runs(session.workspace.running)
        self.steps.notify_made()
        self._show_or_record(step, tree)
        reach = session.workspace.reach(session.workspace.running) if step is None else frozenset()
        self._cell = replace(self._cell, reach=reach)
        session.workspace.tracker.touched(reach)  # for blocks in it
        session.workspace.tracker.let_go(reach)
        is_restored = step is not None and not step.todo
        if is_restored and len(sys.modules) == n_modules:
            self._cell = replace(self._cell, acting=NO_CODE)  # nothing ran, not even an import
        self._observe_begin(own, is_restored=is_restored)
        self._cell = replace(self._cell, began=time.perf_counter())
        return tree

    def _is_left_out(self) -> bool:
        """True if the cell would only take back what was given by hand; it is told then."""
        cell = self._cell
        if cell.override is not None or self.steps.is_asked_for(cell):
            return False
        identity = cell.identity(self.shell)
        told = self._given.left_out(identity)
        if told is None:
            if warning := self._given.warning(identity):
                notices.say(self.shell, warning)
            return False
        self._cell = replace(cell, tree=NO_CODE, acting=NO_CODE)
        self.session.workspace.running = NO_CODE
        notices.say(self.shell, told, left_out=True)
        return True

    def _show_or_record(self, step: Step | None, tree: ast.Module) -> None:
        """Show what a restored cell had shown, or record what the cell will show."""
        if step is not None and not step.todo:
            from nbckpt.jupyter.step_notices import show_restored

            show_restored(self.shell, step)
            tree.body = []
        elif step is not None or self.session.policy.joins:
            from nbckpt.jupyter.outputs import Recorder

            recorder = Recorder(self.shell)
            self._cell = replace(self._cell, recorder=recorder)
            recorder.start()

    def _observe_begin(self, tree: ast.Module, *, is_restored: bool) -> None:
        """Have the process observed, before a cell of the user's code runs."""
        if marking.is_our_own(tree):
            return
        try:
            if is_restored:
                self.session.workspace.observer.was_restored(tree)
            self.session.workspace.observer.cell_begins(self._cell.acting, is_restored=is_restored)
        except user_code_errors() as defect:  # a hook's error never breaks the user's cell
            notices.notify_defect(self.session, "what this cell does is not observed", defect)

    @callback
    def between(self, _: object = None) -> None:
        """Note that something ran that is no cell: a message of a widget, a silent request."""
        if self._cell.info is None and not self._may_be_loading:
            self.session.workspace.runs(None)
            self.session.workspace.observer.ran_unseen()
            self.session.workspace.tracker.touched(touched_by_pages(self.session.workspace))

    def after(self, result: Any) -> None:
        """Checkpoint what the cell did (the event `post_run_cell`)."""
        try:
            with held():
                self._after(result)
                if is_missed():
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            end_cell(self.shell, result, "after the cell had run")

    def _after(self, result: Any) -> None:
        self.loads = None
        if self._may_be_loading:
            self._may_be_loading = False
            from nbckpt.jupyter import loading

            loading.note(self.shell, self.session, result)
        cell = self._cell
        if cell.info is None or not is_of_cell(result, cell.info):
            return
        self._cell = RunningCell(cell.override)
        self.session.workspace.running = None
        if cell.tree is None and result is not None and result.success:
            self._notify_unseen(cell.info)
        shown = cell.recorder.stop() if cell.recorder is not None else []
        run_s = time.perf_counter() - cell.began
        self._given.ends(cell.tree)
        by_callbacks = touched_by_callbacks(self.shell.events, self.session.workspace)
        self.session.workspace.tracker.touched(by_callbacks)
        self._background.note()
        subject = "this cell" if cell.step is None else f"checkpoint {cell.step.request.name!r}"
        try:
            with remembered_looks():
                self.steps.keep(cell, _error_of(result), shown, run_s)
        except NbckptError as problem:
            notices.warn(f"{subject} was NOT kept: {problem}")
        except KeyboardInterrupt:
            notices.warn(f"{subject} was NOT kept: it was interrupted meanwhile")
            raise
        except user_code_errors() as defect:
            # A hook's error never breaks the user's cell, and no value of theirs ends the kernel.
            notices.notify_defect(self.session, f"{subject} was NOT kept", defect)
        finally:
            self._leave_blocks()
        self.session.workspace.tracker.touched(by_callbacks)  # some are called after this
        self.session.workspace.audit.sample()
        self._notify_news()

    def _leave_blocks(self) -> None:
        """End the steps of blocks that were left by an interrupt before they could end."""
        for step in () if self._n_inner else tuple(self.session.state(StepState).running.values()):
            step.left()

    def _notify_unseen(self, info: Any) -> None:
        """Say once that this shell runs cells without showing them to anybody."""
        if self._is_unseen_told or info.silent or not info.raw_cell.strip():
            return
        self._is_unseen_told = True
        kind = type(self.shell)
        notices.warn(
            f"{kind.__module__}.{kind.__qualname__} runs cells that nbckpt does not see, and"
            " nothing of these is kept: `%checkpoint NAME` keeps what is there"
        )

    def _notify_news(self) -> None:
        """Say what has become of writes that no cell waited for."""
        self.session.writes.settle()
        while self.session.writes.news:
            notices.warn(self.session.writes.news.popleft())

    def _confirm(self, question: str) -> bool | None:
        """A user's answer; None where nobody can be asked."""
        from nbckpt.jupyter.confirming import confirmed

        return confirmed(self.shell, question)

    # -- a magic calls this --------------------------------------------------------------------

    def run_marked(self, line: str, source: str) -> None:
        """Run `source` as a `%%checkpoint` cell, where code asks for the magic by its name.

        Raises
        ------
        UsageError
            If nothing would turn the line into a marker: the cell would come back here for ever.
        """
        if self.transform not in self.shell.input_transformers_cleanup:
            message = "nbckpt no longer follows this notebook's cells: run `%reload_ext nbckpt`"
            raise UsageError(message)
        with held(), self.apart(), allowed():
            self.shell.run_cell(f"{marking.MARKER} {line}\n{source}").raise_error()

    @contextmanager
    def apart(self, override: CellOverride | None = None) -> Iterator[None]:
        """Follow a cell that runs inside another, and then the other again."""
        session, outer = self.session, self._cell
        running, session.workspace.running = session.workspace.running, None
        self._cell = RunningCell(override)
        self._n_inner += 1
        try:
            yield
        finally:
            self._n_inner -= 1
            self._cell, session.workspace.running = outer, running
