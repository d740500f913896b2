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
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.error import InputRejected
from IPython.core.interactiveshell import InteractiveShell

from nbckpt.capture.background_work import at_work, threads_at_work
from nbckpt.errors import NbckptError, NotebookError, StoreError, UsageError, line_of
from nbckpt.jupyter import autos, marking, notices
from nbckpt.jupyter.autos import Auto, Ended
from nbckpt.jupyter.callbacks import touched_at_work, touched_by_callbacks, touched_by_pages
from nbckpt.jupyter.claims import Claims
from nbckpt.jupyter.interrupting import (
    Interrupted,
    callback,
    end_cell,
    is_inside,
    is_missed,
    is_of_cell,
    is_outermost,
)
from nbckpt.model import Cell
from nbckpt.runtime.interrupts import allowed, held
from nbckpt.session.session import Session
from nbckpt.steps.step_state import StepState

# What only cells need is imported by the first of them, not by `%load_ext` and `%resume`.
if TYPE_CHECKING:
    from nbckpt.jupyter.outputs import Recorder
    from nbckpt.steps.rerun.rerun import Runner
    from nbckpt.steps.step import Step
    from nbckpt.steps.step_request import Request

_ANYTHING = (Exception, SystemExit, GeneratorExit)
"""Exceptions of a value's own code as it is looked at, a wish to end the kernel too."""

_QUIET = ast.fix_missing_locations(ast.Module([ast.Expr(ast.Constant(";"))], [])).body[0]


class CellRejected(InputRejected):
    """A cell that is not run, because of what its `%%checkpoint` line says."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Asked(NamedTuple):
    """Request and identity of a cell that runs inside another, whatever its text says.

    Attributes
    ----------
    request
        Of its step; None if it is not kept by itself.
    cell
        The one that its checkpoint names.
    """

    request: Request | None
    cell: Cell


def _error_of(result: Any) -> BaseException | None:
    """Error that ended a cell early, or None; `NotebookError` if IPython gave no result."""
    if result is None:
        return NotebookError("how it ended is not known")
    error: BaseException | None = result.error_in_exec or result.error_before_exec
    return error


class Cells:
    """Follows the cells of one shell, for one session."""

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self.shell = shell
        self.session = session
        self.auto = Auto()
        self.latest: Step | None = None
        self.loads: Any = None  # the cell that loads nbckpt, of which IPython did not tell
        self._is_unseen_told = False
        self._may_be_loading = True
        self._info: Any = None
        self._thread = 0  # in which it runs
        self._step: Step | None = None
        self._unkept: Step | None = None  # the cell's, if it could not begin
        self._tree: ast.Module | None = None
        self._recorder: Recorder | None = None
        self._asked: Asked | None = None
        self._acting = ast.Module([], [])  # what of it runs
        self._inner = 0  # cells that run inside the one that is followed
        self._began = 0.0
        self._reach: frozenset[str] | None = frozenset()
        self._beside: frozenset[str] | None = frozenset()
        self.claims = Claims(session)
        session.workspace.guards_blocks = True
        self._steps = session.state(StepState)
        self._steps.runner = self._runner
        self._steps.confirms = self._confirm

    @property
    def running(self) -> Any:
        """IPython's word of the cell that runs; None if none does."""
        return self._info or self.loads

    # -- IPython calls these ------------------------------------------------------------------

    def transform(self, lines: list[str]) -> list[str]:
        """The lines of a cell, its `%%checkpoint` line turned into a marker.

        Of what another magic runs (`%%time`), a comment is none.
        """
        is_part = self._tree is not None and is_inside()
        return (
            lines if is_part and marking.is_comment("".join(lines)) else marking.transformed(lines)
        )

    @callback
    def before(self, info: Any) -> None:
        """Remember the cell that is about to run (the event `pre_run_cell`)."""
        self._may_be_loading = False
        thread = threading.get_ident()
        if self._info is not None and self._thread == thread and is_outermost():
            self._after(None)  # an interrupt kept IPython from telling of its end
        if self._info is None:
            self._info, self._thread = info, thread
            self._tell_news()

    def visit(self, tree: ast.Module) -> ast.Module:
        """Decide what to do with a parsed cell; what is left of it is run."""
        try:
            with held():
                if is_missed():
                    raise KeyboardInterrupt
                return self._decide(tree)
        except KeyboardInterrupt:
            message = "before the cell ran"
            raise Interrupted(message) from None

    def _decide(self, tree: ast.Module) -> ast.Module:
        if self._info is None or self._tree is not None:
            self.session.workspace.ran(tree)  # a hidden request, or a cell that runs a cell
            self.session.workspace.running = self.session.workspace.running or tree
            return tree
        line = marking.marked(tree)
        if line is not None:
            tree.body = tree.body[1:]
        self._tree = self._acting = self.session.workspace.running = ast.Module(list(tree.body), [])
        if self._info.raw_cell.rstrip().endswith(";"):  # a cell that shows nothing is another one
            self._tree.body.append(_QUIET)
        if marking.is_our_own(self._tree):  # none of the user's code: it changes no variable
            self.session.workspace.running = ast.Module([], [])
        self._touch_beside()
        self.session.moved = False
        from nbckpt.jupyter.guards import Guard

        Guard(self.session.namespace).guarded(tree)
        request, is_explicit = self._request(line)
        n_modules = len(sys.modules)
        step = None if request is None else self._begin(request, explicit=is_explicit)
        if step is None:
            self._make_again()
            self.session.workspace.runs(self.session.workspace.running)
        self._tell_made()
        is_restored = step is not None and not step.todo
        if step is not None and is_restored:
            from nbckpt.jupyter.telling import show_restored

            show_restored(self.shell, step)
            tree.body = []
        elif step is not None or self.session.policy.joins:
            from nbckpt.jupyter.outputs import Recorder

            self._recorder = Recorder(self.shell)
            self._recorder.start()
        self._reach = (
            self.session.workspace.reach(self.session.workspace.running)
            if step is None
            else frozenset()
        )
        self.session.workspace.capturer.touched(self._reach)  # for blocks in it
        self.session.workspace.capturer.let_go(self._reach)
        if is_restored and len(sys.modules) == n_modules:
            self._acting = ast.Module([], [])  # nothing ran, not even an import
        try:
            if not marking.is_our_own(self._tree):
                if is_restored:
                    self.session.workspace.observer.was_restored(self._tree)
                self.session.workspace.observer.cell_begins(self._acting, is_restored=is_restored)
        except _ANYTHING as defect:  # a hook's error never breaks the user's cell
            self._tell_defect("what this cell does is not observed", defect)
        self._began = time.perf_counter()
        return tree

    @callback
    def between(self, _: object = None) -> None:
        """Note that something ran that is no cell: a message of a widget, a silent request."""
        if self._info is None and not self._may_be_loading:
            self.session.workspace.runs(None)
            self.session.workspace.observer.ran_unseen()
            self.session.workspace.capturer.touched(touched_by_pages(self.session.namespace))

    def _touch_beside(self) -> None:
        """Count what tasks and threads may have changed since a cell began or ended last."""
        self.session.workspace.capturer.touched(self._beside)
        namespace = self.session.namespace
        try:
            self._steps.at_work = at_work(namespace)
            works = [*self._steps.at_work, *threads_at_work(namespace)]
            self._beside = touched_at_work(works, namespace)
        except Exception:  # whatever a loop or thread of another kind says: it may be anything
            self._beside = None

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
            self._note_loading(result)
        if self._info is None or not is_of_cell(result, self._info):
            return
        info, step, tree, recorder = self._info, self._step, self._tree, self._recorder
        unkept, self._unkept = self._unkept, None
        self._info = self._step = self._tree = self._recorder = self.session.workspace.running = (
            None
        )
        if tree is None and result is not None and result.success:
            self._tell_unseen(info)
        shown = recorder.stop() if recorder is not None else []
        values = recorder.values if recorder is not None else []
        run_s = time.perf_counter() - self._began
        error = _error_of(result)
        by_callbacks = touched_by_callbacks(self.shell.events, self.session.namespace)
        self.session.workspace.capturer.touched(by_callbacks)
        self._touch_beside()
        try:
            if tree is not None and not marking.is_our_own(tree):
                self.session.workspace.observer.cell_ends(self._acting)
            if unkept is not None:
                unkept.left()
            if step is not None and self.session.moved:
                step.left()
            if step is not None and step.todo and not self.session.moved:
                is_live = recorder is not None and self._is_live(recorder, shown)
                self._end(step, error, shown, values, is_live=is_live)
            elif tree is not None and (step is None or step.todo):
                self.session.workspace.capturer.touched(self._reach)
                self.session.workspace.ran(tree)
                is_news = not self.session.moved and not self._steps.is_remaking
                if is_news and not marking.is_our_own(tree):
                    self._join(Ended(self._cell(info), run_s, error, shown), tree)
        except NbckptError as problem:
            notices.warn(f"{self._name_of(step)} was NOT kept: {problem}")
        except KeyboardInterrupt:
            notices.warn(f"{self._name_of(step)} was NOT kept: it was interrupted meanwhile")
            raise
        except _ANYTHING as defect:
            # A hook's error never breaks the user's cell, and no value of theirs ends the kernel.
            self._tell_defect(f"{self._name_of(step)} was NOT kept", defect)
        finally:
            self._leave_blocks()
        self.session.workspace.capturer.touched(by_callbacks)  # some are called after this
        self.session.workspace.audit.sample()
        self._tell_news()

    def _is_live(self, recorder: Recorder, shown: Sequence[Any]) -> bool:
        """True if only the cell's code can show again what it showed."""
        model_ids = [i for output in shown for i in output.get("widgets", ())]
        if recorder.is_live or not model_ids:
            return recorder.is_live
        from nbckpt.jupyter.widget_states import are_held

        names = self.session.workspace.capturer.user_names()
        return not are_held(model_ids, names, self.session.namespace)

    def _leave_blocks(self) -> None:
        """End the steps of blocks that were left by an interrupt before they could end."""
        for step in () if self._inner else tuple(self._steps.running.values()):
            step.left()

    def _note_loading(self, result: Any) -> None:
        """Have the statements of the cell that loads nbckpt count as those of any other."""
        self._may_be_loading = False
        from nbckpt.jupyter import loading

        try:
            tree = loading.code_of(self.shell, result, has_moved=self.session.moved)
            if tree is not None and not marking.is_our_own(tree):
                self.session.workspace.ran(tree)
        except _ANYTHING as defect:  # a hook's error never breaks the user's cell
            self._tell_defect("what made the variables of this cell is not known", defect)

    def _tell_unseen(self, info: Any) -> None:
        """Say once that this shell runs cells without showing them to anybody."""
        if self._is_unseen_told or info.silent or not info.raw_cell.strip():
            return
        self._is_unseen_told = True
        kind = type(self.shell)
        notices.warn(
            f"{kind.__module__}.{kind.__qualname__} runs cells that nbckpt does not see, and"
            " nothing of these is kept: `%checkpoint NAME` keeps what is there"
        )

    def _tell_defect(self, what: str, defect: BaseException) -> None:
        notices.warn(f"{what}, by a defect in nbckpt:")
        traceback.print_exception(defect)
        self.session.writes.owe_event("hook_failed", where=what, error=type(defect).__name__)

    def _tell_news(self) -> None:
        """Say what has become of writes that no cell waited for."""
        self.session.writes.settle()
        while self.session.writes.news:
            notices.warn(self.session.writes.news.popleft())

    # -- the steps of it ----------------------------------------------------------------------

    def _request(self, line: str | None) -> tuple[Request | None, bool]:
        """Request of the cell, if it is kept by itself, and True if its own line makes it."""
        from nbckpt.jupyter import options
        from nbckpt.steps.step_request import Request

        assert self._tree is not None
        if self._asked is not None:
            return self._asked.request, line is not None
        policy = self.session.policy
        if line is None and (not policy.keeps_each or marking.is_our_own(self._tree)):
            return None, False
        name = marking.default_name(getattr(self._info, "cell_id", None), self._tree)
        if line is None:
            rerun = policy.kind != "skip" or marking.changes_the_shell(self._tree)
            return Request(name, rerun=rerun, sync=self.auto.sync), False
        try:
            request = options.parse(line, default_name=name)
        except NbckptError as problem:
            if not marking.is_comment(self._info.raw_cell):
                raise self._rejected(problem) from problem
            notices.warn(f"the comment is no magic, and this cell runs without it: {problem}")
            return self._request(None)
        try:
            self.claims.take(request, self._cell(self._info))
        except NbckptError as problem:
            raise self._rejected(problem) from problem
        return request, True

    def _cell(self, info: Any) -> Cell:
        if self._asked is not None:
            return self._asked.cell
        count = self.shell.execution_count - 1 if info.store_history else None
        return Cell(info.raw_cell, count, getattr(info, "cell_id", None))

    def _begin(self, request: Request, *, explicit: bool) -> Step | None:
        assert self._tree is not None
        try:
            from nbckpt.steps.step import Step

            step = Step.begin(self.session, request, self._cell(self._info), self._tree)
        except StoreError as problem:
            notices.warn(f"cell {request.name!r} runs without a checkpoint: {problem}")
            self._pass_by(request, str(problem))
            return None
        except NbckptError as problem:
            if explicit:
                raise self._rejected(problem) from problem
            notices.warn(f"cell {request.name!r} runs without a checkpoint: {problem}")
            return None
        except _ANYTHING as defect:  # a hook's error never breaks the user's cell
            self._tell_defect(f"cell {request.name!r} runs without a checkpoint", defect)
            self._pass_by(request, f"a defect in nbckpt: {line_of(defect)}")
            return None
        if explicit and self._asked is None:
            from nbckpt.jupyter.telling import tell_why

            tell_why(self.shell, step)
        self._step = self.latest = step
        return step

    def _make_again(self) -> None:
        """Have a cell that is no step find what could not be kept."""
        session = self.session
        if self._steps.is_remaking or not (
            session.workspace.unkept.makers or session.workspace.unkept.since
        ):
            return
        from nbckpt.steps import remake

        assert self._tree is not None
        try:
            remake.before(session, self._tree)
        except NbckptError as problem:
            notices.warn(f"what could not be kept was not made again: {problem}")
        except _ANYTHING as defect:  # a hook's error never breaks the user's cell
            self._tell_defect("what could not be kept was not made again", defect)

    def _tell_made(self) -> None:
        """Say what was made again for the cell, and what could not be."""
        told = self.session.workspace.unkept.told
        while told:
            notices.say(self.shell, f"nbckpt: {told.pop(0)}", made_again=True)

    def _pass_by(self, request: Request, why: str) -> None:
        """Have the loops and maps of a cell run that could not begin as a step."""
        from nbckpt.steps.step import Step

        assert self._tree is not None
        cell = self._cell(self._info)
        self._unkept = Step.refused(self.session, request, cell, self._tree, why)

    def _rejected(self, problem: NbckptError) -> CellRejected:
        return CellRejected(f"{type(problem).__name__}: {problem}")

    def _end(
        self,
        step: Step,
        error: BaseException | None,
        shown: list[Any],
        values: list[Any],
        *,
        is_live: bool,
    ) -> None:
        if error is not None:
            step.fail(error)
            return
        if values:
            self._keep_result(step, shown, values[0])
        if is_live:
            step.outside = (*step.outside, "the callbacks of a widget")
        was_asked_for = marking.has_marker(step.cell.source)
        patience = 0.0 if not was_asked_for and not step.request.sync else -1.0
        head = self.session.position.head
        checkpoint = step.finish(shown, patience_s=patience)
        from nbckpt.jupyter.telling import tell_kept

        tell_kept(self.shell, self.session, checkpoint, head=head, binds=step.names.binds)

    def _keep_result(self, step: Step, shown: list[Any], value: object) -> None:
        """Have the value that the cell ended with kept with what it showed."""
        from nbckpt.steps import cell_results

        if not (entries := [output for output in shown if "result" in output]):
            entries = [{}]  # of what shows itself
            shown += entries
        names = {*step.key.inputs, *step.names.binds, *step.names.loads}
        entries[-1]["value"] = cell_results.kept(self.session, value, names)

    def _join(self, ended: Ended, tree: ast.Module) -> None:
        """Join a cell to the next checkpoint, or make that now."""
        head = self.session.position.head
        checkpoint = autos.join(self.session, ended, tree, sync=self.auto.sync)
        if checkpoint is None:
            return
        from nbckpt.fingerprint import code
        from nbckpt.jupyter.telling import tell_kept

        binds = code.names_of_tree(tree).binds
        tell_kept(self.shell, self.session, checkpoint, head=head, binds=binds)

    def _name_of(self, step: Step | None) -> str:
        return "this cell" if step is None else f"checkpoint {step.request.name!r}"

    def _runner(self, *, quiet: bool = False) -> Runner:
        from nbckpt.jupyter.rerunning import InShell

        return InShell(self.shell, self, quiet=quiet)

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
    def apart(self, asked: Asked | None = None) -> Iterator[None]:
        """Follow a cell that runs inside another, and then the other again."""
        session = self.session
        outer = (self._info, self._step, self._tree, self._recorder, self._began, self._asked)
        reach, unkept, self._unkept = self._reach, self._unkept, None
        running, session.workspace.running = session.workspace.running, None
        self._info = self._step = self._tree = self._recorder = None
        self._asked = asked
        self._inner += 1
        try:
            yield
        finally:
            self._inner -= 1
            self._info, self._step, self._tree, self._recorder, self._began, self._asked = outer
            session.workspace.running, self._reach, self._unkept = running, reach, unkept
