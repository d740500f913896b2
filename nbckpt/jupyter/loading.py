"""The code of the cell that loads nbckpt, of which IPython tells only that it has ended."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.jupyter import marking, notices
from nbckpt.runtime.source_trees import parse
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.session import Session


def note(shell: InteractiveShell, session: Session, result: Any) -> None:
    """Have the statements of the cell that loads nbckpt count as those of any other."""
    try:
        tree = _code_of(shell, result, has_moved=session.moved)
        if tree is not None and not marking.is_our_own(tree):
            session.workspace.ran(tree)
    except user_code_errors() as defect:  # a hook's error never breaks the user's cell
        failure = "what made the variables of this cell is not known"
        notices.notify_defect(session, failure, defect)


def _code_of(shell: InteractiveShell, result: Any, *, has_moved: bool) -> ast.Module | None:
    """The statements that made what is there; None if they cannot be told.

    Parameters
    ----------
    result
        IPython's word of the cell.
    has_moved
        Whether the cell went elsewhere in the history: what stands above that line made nothing
        that is still there.
    """
    if result is None or result.error_before_exec is not None:
        return None
    text: str | None = getattr(result.info, "transformed_cell", None)  # not of every IPython
    try:
        tree = parse(text or str(shell.transform_cell(result.info.raw_cell)))
    except SyntaxError:
        return None
    if not has_moved:
        return tree
    moves = [i for i, statement in enumerate(tree.body) if marking.moves(statement)]
    return ast.Module(tree.body[moves[-1] + 1 :], []) if moves else None
