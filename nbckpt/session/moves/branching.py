"""Branching: fork, switch, update. Values may be given by hand; they become one checkpoint.

A new state is made in the live namespace before any branch is: if an expression or a reducer
fails, the namespace goes back to the very objects that it held, and nothing was changed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from nbckpt.capture.selection import Selection
from nbckpt.capture.trust_gate import require_trusted
from nbckpt.config.validate import require_text
from nbckpt.errors import BranchExistsError, BranchNotFoundError, StoreError, UsageError
from nbckpt.model import Cell, Checkpoint
from nbckpt.runtime.interrupts import allowed, held, whole
from nbckpt.runtime.source_trees import parse
from nbckpt.session.moves import (
    namespace_restore,
    rewind_and_resume,
    unsaved,
    update_values,
)
from nbckpt.session.moves.move_result import MoveResult
from nbckpt.timeline import references

if TYPE_CHECKING:
    from nbckpt.session.session_parts import SessionParts

_BRANCH = re.compile(r"\w[\w.-]*")
_NUMBERED = re.compile(r"(?P<stem>.+)-[0-9]+")


def fork(
    session: SessionParts,
    ref: str,
    branch: str | None,
    values: Mapping[str, object],
    expressions: Mapping[str, str],
) -> MoveResult:
    """A new branch at `ref`, with other values if some are given; the session is on it.

    What was there is checkpointed first.

    Parameters
    ----------
    branch
        Its name; by default one is made of this branch's: `main-2`.
    values, expressions
        Variables that are to be other than at `ref`: objects, and then texts that are
        evaluated there, in this order.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names none.
    UntrustedError
        If the user neither made nor trusts it.
    BranchExistsError
        If the name is taken.
    UsageError
        If the name cannot be had, or is that of a variable, or an expression fails: nothing was
        changed.
    """
    unsaved.prepare_move(session)
    target = session.get(ref)
    require_trusted(target)
    name = new_branch(session, branch)
    trees = update_values.understood(values, expressions)
    if branch is not None and branch in session.timeline.manifest(target.id):
        message = (
            f"{branch!r} is a variable at {ref!r}: give it another value, as in {branch}=1, or"
            " choose another name for the branch"
        )
        raise UsageError(message)
    unsaved.keep_unsaved(session, "before-fork")
    with _moving(session, target) as gone:
        moved = gone
        session.namespace.update(values)
        for variable, tree in trees.items():
            with allowed():
                value = update_values.evaluated(session, variable, tree)
            session.namespace[variable] = value
        session.position.branch = name
        if values or trees:
            session.workspace.ran(update_values.bound_by_hand(values))
            session.workspace.ran(
                parse("\n".join(f"{n} = {ast.unparse(t)}" for n, t in trees.items()))
            )
            lines = [
                update_values.line(n, update_values.text_of(value), value)
                for n, value in values.items()
            ]
            lines += [f"{n} = {ast.unparse(tree)}" for n, tree in trees.items()]
            made = keep_given(session, target.name, lines, (*values, *trees), "fork")
            moved = moved._replace(checkpoint=made)
        else:
            session.position.move_head(target, told=f"branch {name!r}")
    rewind_and_resume.note(session, "forked", moved, branch=name)
    return moved


@whole
def branch_off(session: SessionParts) -> str:
    """The name of a new branch where the session stands; it is on it, and nothing else changed.

    Raises
    ------
    UsageError
        If it stands nowhere yet.
    """
    if session.position.id is None:
        message = "nothing has been checkpointed here yet: there is nothing to branch from"
        raise UsageError(message)
    session.position.branch = new_branch(session, None)
    here = session.timeline.checkpoints[session.position.id]
    session.position.move_head(here, told=f"branch {session.position.branch!r}")
    return session.position.branch


def switch(session: SessionParts, branch: str) -> MoveResult:
    """Go to the head of a branch; what was there is checkpointed first.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    UntrustedError
        If the user neither made nor trusts its head.
    """
    unsaved.prepare_move(session)
    require_text(branch, "the name of a branch")
    session.refresh()
    head = session.timeline.head(branch)
    if head is None:
        raise BranchNotFoundError(references.unknown_branch(session.timeline, branch))
    require_trusted(head)
    unsaved.keep_unsaved(session, "before-switch")
    head = session.timeline.head(branch)
    if head is None:  # its name went with what was kept just now: it is contained in that
        raise BranchNotFoundError(references.unknown_branch(session.timeline, branch))
    moved = rewind_and_resume.move(session, head)
    session.position.branch = branch
    session.position.move_head(head, told=f"the switch to {branch!r}")
    rewind_and_resume.note(session, "switched", moved, branch=branch)
    return moved


def update(
    session: SessionParts,
    ref: str,
    values: Mapping[str, object],
    as_step: str | None,
    expressions: Mapping[str, str],
) -> Checkpoint:
    """A child of `ref` with values that go through the reducers of their variables.

    Where `ref` is the head of this branch, the branch goes on; else it is a new branch. The session
    is there.

    Parameters
    ----------
    as_step
        The step that the values are attributed to; by default that of `ref`.
    expressions
        More values, as texts that are evaluated at `ref`.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names none.
    UntrustedError
        If the user neither made nor trusts it.
    UsageError
        If there is no such step, or an expression or a reducer fails: nothing was changed.
    """
    unsaved.prepare_move(session)
    target = session.get(ref)
    require_trusted(target)
    name = target.name if as_step is None else _step(session, as_step)
    trees = update_values.understood(values, expressions)
    if not values and not trees:
        message = f"update {ref!r}: give the values, as in update({ref!r}, {{'name': value}})"
        raise UsageError(message)
    unsaved.keep_unsaved(session, "before-update")
    head = session.position.head
    goes_on = head is not None and head.id == target.id
    branch = session.position.branch if goes_on else new_branch(session, None)
    with _moving(session, target) as moved:
        with allowed():  # the expressions' and the reducers' own code; all of it can be undone
            lines = [
                update_values.reduce(session, target, n, value, update_values.text_of(value))
                for n, value in values.items()
            ]
            for n, tree in trees.items():
                value = update_values.evaluated(session, n, tree)
                lines.append(update_values.reduce(session, target, n, value, ast.unparse(tree)))
        session.position.branch = branch
        session.workspace.ran(parse("\n".join(lines)))
        session.workspace.ran(update_values.bound_by_hand((*values, *trees)))
        made = keep_given(session, name, lines, (*values, *trees), "update")
    rewind_and_resume.note(session, "updated", moved._replace(checkpoint=made), branch=branch)
    return made


@contextmanager
def _moving(session: SessionParts, target: Checkpoint) -> Iterator[MoveResult]:
    """The move to a checkpoint; if the body fails, all is as it was, down to the objects.

    Not if the disk refused: then all is there, and is written as soon as it can be.
    """
    workspace = session.workspace
    was = (
        session.position.id,
        session.position.before,
        session.position.before_branch,
        session.position.origin,
        session.moved,
    )
    before, seeded, branch = (
        dict(session.namespace),
        set(workspace.seeded),
        session.position.branch,
    )
    moved = rewind_and_resume.move(session, target)
    try:
        yield moved
    except StoreError:
        raise
    except BaseException:
        with held(firmly=True):
            session.namespace.clear()
            session.namespace.update(before)
            # An expression may have changed an object in place that both states hold.
            workspace.tracker.touched(None)
            if was[0] is not None:
                there = session.timeline.checkpoints[was[0]]
                namespace_restore.restore_all(session, there, delete=False, is_undone=True)
            workspace.seeded, session.position.branch = seeded, branch
            session.position.id, session.position.before, session.position.before_branch = was[:3]
            session.position.origin, session.moved = was[3:]
        raise


def keep_given(
    session: SessionParts, name: str, lines: list[str], bound: tuple[str, ...], made_by: str
) -> Checkpoint:
    """Checkpoint what the given values made of where the namespace is."""
    with session.checkpoints.holding(name):
        captured = session.checkpoints.capture(Selection())
        draft = session.checkpoints.draft(
            name, captured, cell=Cell("\n".join(lines)), duration_s=0.0
        )
        draft = replace(draft, bound=tuple(sorted(bound)), made_by=made_by)
        session.checkpoints.commit(draft)
    return draft


# -- names ----------------------------------------------------------------------------------------


def new_branch(session: SessionParts, name: str | None) -> str:
    """A name for a new branch: the one that was asked for, if it can be had."""
    taken, names = session.timeline.is_branch, session.timeline.names()
    if name is None:
        stem = (
            m["stem"]
            if (m := _NUMBERED.fullmatch(session.position.branch))
            else session.position.branch
        )
        n = 2
        while taken(f"{stem}-{n}") or f"{stem}-{n}" in names:
            n += 1
        return f"{stem}-{n}"
    require_text(name, "the name of a branch")
    if not _BRANCH.fullmatch(name):
        message = (
            f"{name!r} is no name for a branch: use letters, digits, '_', '-' and '.',"
            " and begin with a letter or digit"
        )
        raise UsageError(message)
    if taken(name):
        message = f"branch {name!r} exists: choose another name, or `%switch {name}` to go there"
        raise BranchExistsError(message)
    if name in names:
        message = f"{name!r} is the name of a checkpoint: choose another name for the branch"
        raise UsageError(message)
    return name


def _step(session: SessionParts, name: str) -> str:
    require_text(name, "the name of a step")
    known = session.timeline.names("done")
    if name in known:
        return name
    message = f"no step {name!r} has been recorded; {references.hint(name, known)}"
    raise UsageError(message)
