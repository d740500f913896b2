"""`with nbckpt.checkpoint(…) as step:` a step whose code is the body of a `with` statement."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType

from nbckpt.capture.selection import Selection
from nbckpt.errors import StoreError, UsageError
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Cell
from nbckpt.runtime.cell_frames import is_of_cell
from nbckpt.runtime.interrupts import held
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.block_source import body_of, is_guarded, with_at
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.step import Step
from nbckpt.timeline.references import require_name


class checkpoint(Own):  # noqa: N801  # reads as a verb: with nbckpt.checkpoint("train"):
    """A step whose code is the body of this `with` statement.

    In a notebook the body is skipped when it can be restored. A script says so itself::

        with nbckpt.checkpoint("embed", vars=["vectors"]) as step:
            if step.todo:
                for doc in step.track(docs):
                    vectors.append(embed(doc))

    Where the disk does not let it begin, which is told, the body runs and is not kept.

    Parameters
    ----------
    name
        Of the checkpoint.
    vars
        Variables to keep; by default every one that the body binds or changes.
    exclude
        Variables not to keep.
    deps
        Files that the body depends on.
    rerun
        Run the body even if it could be restored.
    sync
        Wait for the disk however long it takes.

    Raises
    ------
    UsageError
        If `name` is none that a reference can mean. On entering: no session is open, or this is
        inside a function.
    VariableNotFoundError
        On entering: `vars` names what neither exists nor is bound by the body.
    StoreError
        On leaving: the checkpoint could not be written; the values are there.
    """

    def __init__(
        self,
        name: str,
        *,
        vars: Iterable[str] | None = None,  # noqa: A002  # the option's name everywhere else
        exclude: Iterable[str] = (),
        deps: Iterable[str] = (),
        tags: Iterable[str] = (),
        note: str = "",
        rerun: bool = False,
        sync: bool = False,
    ) -> None:
        if isinstance(vars, str):
            message = f"vars is a list of names: vars=[{vars!r}]"
            raise UsageError(message)
        selection = Selection(None if vars is None else frozenset(vars), frozenset(exclude))
        self._request = Request(
            require_name(name),
            selection,
            tuple(deps),
            tuple(tags),
            note,
            rerun=rerun,
            sync=sync,
        )
        self._step: Step | None = None

    def __enter__(self) -> Step:
        session = current_session.session()
        frame = sys._getframe(1)  # noqa: SLF001  # the `with` statement's own frame
        if not is_of_cell(frame, session.namespace):
            message = (
                f"checkpoint {self._request.name!r} is inside a function: "
                "use it at the top level, where its variables are the notebook's"
            )
            raise UsageError(message)
        node, beside = with_at(frame)
        self._request = replace(self._request, beside=beside)
        if not is_guarded(node) and not session.workspace.guards_blocks:
            _warn_unguarded(self._request.name)
            self._request = replace(self._request, is_skippable=False)
        session.workspace.ran(session.workspace.running)
        cell, tree = Cell(ast.unparse(node)), body_of(node)
        try:
            with held():
                self._step = self._begun(session, cell, tree)
            return self._step
        except BaseException:  # an interrupt: the body is not reached, so nobody ends the step
            if self._step is not None:
                self._step.left()
            raise

    def _begun(self, session: Session, cell: Cell, tree: ast.Module) -> Step:
        """The step; if the disk does not let it begin, one of which nothing is kept."""
        try:
            return Step.begin(session, self._request, cell, tree)
        except StoreError as problem:
            from nbckpt.steps.calls.step_messages import tell

            why = f"block {self._request.name!r} runs without a checkpoint: {problem}"
            tell(session, why)
            workspace = session.workspace
            workspace.tracker.touched(workspace.reach(tree))  # nothing else looks what it changes
            return Step.refused(session, self._request, cell, tree, str(problem))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        step = self._step
        if step is None or not step.todo:
            return
        with held():
            if not step.is_kept:
                step.left()
                step.session.workspace.ran(step.tree)
            elif error is None:
                step.finish()
            else:
                step.session.pending_cells.failed_blocks.append(step.fail(error).id)


def _warn_unguarded(name: str) -> None:
    warnings.warn(
        f"the body of checkpoint {name!r} runs each time: begin it with `if step.todo:`, "
        "so that it can be skipped",
        stacklevel=3,
    )
