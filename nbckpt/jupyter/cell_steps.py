"""Steps of cells: begun before a cell runs, ended or joined to the next checkpoint after it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.error import InputRejected
from IPython.core.interactiveshell import InteractiveShell

from nbckpt.errors import NbckptError, StoreError, line_of
from nbckpt.jupyter import auto_verb, marking, notices
from nbckpt.jupyter.auto_verb import Auto, Ended
from nbckpt.jupyter.running_cell import RunningCell
from nbckpt.jupyter.taken_names import CellNames
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.text.secret_texts import may_have_key, names_secrets

# What only cells need is imported by the first of them, not by `%load_ext` and `%resume`.
if TYPE_CHECKING:
    from nbckpt.jupyter.outputs import Recorder
    from nbckpt.steps.execution.step_request import Request
    from nbckpt.steps.step import Step


class CellRejected(InputRejected):
    """A cell that is not run, because of what its `%%checkpoint` line says."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class CellSteps:
    """Begins and ends the steps of one shell's cells.

    Attributes
    ----------
    auto
        What cells follow that ask for nothing themselves.
    names
        Names of the marked cells.
    latest
        The step that began last; None if none did.
    again
        Ids of cells that run the next time whether they could be restored or not.
    """

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self.auto = Auto()
        self.names = CellNames(session)
        self.latest: Step | None = None
        self.again: set[str] = set()
        self._shell = shell
        self._session = session

    def follow(self, line: str) -> None:
        """Follow another policy from the next cell on: what `%nbckpt auto LINE` does.

        Raises
        ------
        UsageError
            If there is no such policy.
        StoreError
            If what was joined till now cannot be kept: nothing was changed.
        """
        auto = auto_verb.parse_line(line)
        self._session.pending_cells.follow(auto.policy)
        self._session.state(StepState).reruns = auto.rerun
        self.auto = auto

    # -- before a cell runs -------------------------------------------------------------------

    def request(self, cell: RunningCell, line: str | None) -> tuple[Request | None, bool]:
        """Request of the cell, as `_request`; one that is to run again is not restored."""
        request, is_explicit = self._request(cell, line)
        cell_id = getattr(cell.info, "cell_id", None)
        if cell_id in self.again and cell.override is None:
            self.again.discard(cell_id)
            request = None if request is None else replace(request, rerun=True)
        return request, is_explicit

    def is_asked_for(self, cell: RunningCell) -> bool:
        """True if a cell is to run the next time in any case."""
        return getattr(cell.info, "cell_id", None) in self.again

    def _request(self, cell: RunningCell, line: str | None) -> tuple[Request | None, bool]:
        """Request of the cell, if it is kept by itself, and True if its own line makes it.

        Parameters
        ----------
        line
            Of its `%%checkpoint` magic; None if it has none.

        Raises
        ------
        CellRejected
            If the line asks for what cannot be.
        """
        from nbckpt.jupyter import checkpoint_magic
        from nbckpt.steps.execution.step_request import Request

        assert cell.tree is not None
        if cell.override is not None:
            return cell.override.request, line is not None
        policy = self._session.policy
        if line is None and (not policy.keeps_each or marking.is_our_own(cell.tree)):
            return None, False
        name = marking.default_name(getattr(cell.info, "cell_id", None), cell.tree)
        if line is None:
            rerun = policy.kind != "skip" or marking.changes_the_shell(cell.tree)
            return Request(name, rerun=rerun, sync=self.auto.sync), False
        try:
            request = checkpoint_magic.parse(line, default_name=name)
        except NbckptError as problem:
            if not marking.is_comment(cell.info.raw_cell):
                raise _rejected(problem) from problem
            notices.warn(f"the comment is no magic, and this cell runs without it: {problem}")
            return self._request(cell, None)
        try:
            self.names.take(request, cell.identity(self._shell))
        except NbckptError as problem:
            raise _rejected(problem) from problem
        return request, True

    def begin(self, cell: RunningCell, request: Request, *, explicit: bool) -> RunningCell:
        """The cell with its step; without, if it has to run without a checkpoint.

        Raises
        ------
        CellRejected
            If the cell's own line asked for a step that cannot be.
        """
        assert cell.tree is not None
        failure = f"cell {request.name!r} runs without a checkpoint"
        try:
            from nbckpt.steps.step import Step

            step = Step.begin(self._session, request, cell.identity(self._shell), cell.tree)
        except StoreError as problem:
            notices.warn(f"{failure}: {problem}")
            return self._refused(cell, request, str(problem))
        except NbckptError as problem:
            if explicit:
                raise _rejected(problem) from problem
            notices.warn(f"{failure}: {problem}")
            return cell
        except user_code_errors() as defect:  # a hook's error never breaks the user's cell
            notices.notify_defect(self._session, failure, defect)
            return self._refused(cell, request, f"a defect in nbckpt: {line_of(defect)}")
        if explicit and cell.override is None:
            from nbckpt.jupyter.step_notices import notify_why

            notify_why(self._shell, step)
        self.latest = step
        return replace(cell, step=step)

    def _refused(self, cell: RunningCell, request: Request, why: str) -> RunningCell:
        """A cell that could not begin as a step, whose loops and maps run all the same."""
        from nbckpt.steps.step import Step

        assert cell.tree is not None
        identity = cell.identity(self._shell)
        return replace(cell, refused=Step.refused(self._session, request, identity, cell.tree, why))

    def make_again(self, tree: ast.Module) -> None:
        """Have a cell that is no step find what could not be kept."""
        session = self._session
        if session.state(StepState).is_remaking or not (
            session.workspace.unkept.makers or session.workspace.unkept.since
        ):
            return
        from nbckpt.steps.remake import remake

        failure = "what could not be kept was not made again"
        try:
            remake.before(session, tree)
        except NbckptError as problem:
            notices.warn(f"{failure}: {problem}")
        except user_code_errors() as defect:  # a hook's error never breaks the user's cell
            notices.notify_defect(session, failure, defect)

    def notify_made(self) -> None:
        """Say what was made again for the cell, and what could not be."""
        told = self._session.workspace.unkept.told
        while told:
            notices.say(self._shell, f"nbckpt: {told.pop(0)}", made_again=True)

    # -- after it has run ---------------------------------------------------------------------

    def keep(
        self, cell: RunningCell, error: BaseException | None, shown: list[Any], run_s: float
    ) -> None:
        """Keep what a cell did: as its own checkpoint, or joined to the next one."""
        session, step, tree = self._session, cell.step, cell.tree
        if tree is not None and not marking.is_our_own(tree):
            session.workspace.observer.cell_ends(cell.acting)
            self._tell_secrets(cell.identity(self._shell).source, tree)
        if cell.refused is not None:
            cell.refused.left()
        if step is not None and session.moved:
            step.left()
        if step is not None and step.todo and not session.moved:
            self._end(step, error, shown, cell.recorder)
        elif tree is not None and (step is None or step.todo):
            session.workspace.tracker.touched(cell.reach)
            session.workspace.ran(tree)
            is_news = not session.moved and not session.state(StepState).is_remaking
            if is_news and not marking.is_our_own(tree):
                ended = Ended(cell.identity(self._shell), run_s, error, shown)
                self._join(ended, tree)

    def _tell_secrets(self, source: str, tree: ast.Module) -> None:
        """Say that secrets stand in the text of a cell."""
        if not (may_have_key(source) or names_secrets(source.encode("utf-8", "replace"))):
            return
        from nbckpt.jupyter.literal_secrets import LiteralSecrets

        if told := self._session.state(LiteralSecrets).news(tree):
            notices.say(self._shell, f"nbckpt: {told}", secrets=True)

    def _end(
        self,
        step: Step,
        error: BaseException | None,
        shown: list[Any],
        recorder: Recorder | None,
    ) -> None:
        """Keep what a cell did, or note that it failed."""
        is_live = recorder is not None and self._is_live(recorder, shown)
        if error is not None:
            step.fail(error)
            return
        if recorder is not None and recorder.values:
            self._keep_result(step, shown, recorder.values[0])
        if is_live:
            step.outside = (*step.outside, "the callbacks of a widget")
        was_asked_for = marking.has_marker(step.cell.source)
        patience = 0.0 if not was_asked_for and not step.request.sync else -1.0
        before = self._session.position.as_seen()
        checkpoint = step.finish(shown, patience_s=patience)
        from nbckpt.jupyter.step_notices import notify_kept

        notify_kept(self._shell, self._session, checkpoint, before=before, binds=step.names.binds)

    def _is_live(self, recorder: Recorder, shown: Sequence[Any]) -> bool:
        """True if only the cell's code can show again what it showed."""
        model_ids = [i for output in shown for i in output.get("widgets", ())]
        if recorder.is_live or not model_ids:
            return recorder.is_live
        from nbckpt.jupyter.widget_states import are_held

        names = self._session.workspace.tracker.user_names()
        return not are_held(model_ids, names, self._session.namespace)

    def _keep_result(self, step: Step, shown: list[Any], value: object) -> None:
        """Have the value that the cell ended with kept with what it showed."""
        from nbckpt.steps import cell_results

        if not (entries := [output for output in shown if "result" in output]):
            entries = [{}]  # of what shows itself
            shown += entries
        names = {*step.key.inputs, *step.names.binds, *step.names.loads}
        entries[-1]["value"] = cell_results.kept(self._session, value, names)

    def _join(self, ended: Ended, tree: ast.Module) -> None:
        """Join a cell to the next checkpoint, or make that now."""
        before = self._session.position.as_seen()
        checkpoint = auto_verb.join(self._session, ended, tree, sync=self.auto.sync)
        if checkpoint is None:
            return
        from nbckpt.fingerprint import code
        from nbckpt.jupyter.step_notices import notify_kept

        binds = code.names_of_tree(tree).binds
        notify_kept(self._shell, self._session, checkpoint, before=before, binds=binds)


def _rejected(problem: NbckptError) -> CellRejected:
    return CellRejected(f"{type(problem).__name__}: {problem}")
