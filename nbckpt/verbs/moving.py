"""Moves in the history: rewind, fork, switch, rerun, resume."""

from __future__ import annotations

from argparse import SUPPRESS
from typing import TYPE_CHECKING

from nbckpt.steps import current_session
from nbckpt.verbs.arguments import (
    BRANCH,
    NOTEBOOK,
    NOTEBOOK_ONLY,
    OF_NOTEBOOK,
    PANEL_ONLY,
    REF,
    STORE,
    TERMINAL_ONLY,
    VALUE,
    VALUES,
    Door,
    argument,
    checkpoint_argument,
    flag,
)
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.other_notebooks import OTHER_NOTEBOOK, require_own_branch, require_own_ref
from nbckpt.verbs.registry import WRITES, at, declare

AWAITED = "--awaited"
"""Option of `%rerun` that says that its cell awaits what it returns."""

if TYPE_CHECKING:
    from nbckpt.session.checkpoint_view import Look
    from nbckpt.session.detached import Pointed
    from nbckpt.session.moves.move_result import MoveResult
    from nbckpt.session.session import Session
    from nbckpt.steps.rerun.rerun import Rerun


def rewind(ref: str | Look) -> MoveResult:
    """Make the namespace that of `ref`; what was there is checkpointed first, for ``rewind("-")``.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    """
    from nbckpt.session.checkpoint_view import ref_of

    return current_session.session().rewind(ref_of(ref))


@declare(
    "rewind",
    "move the branch back to a checkpoint; `rewind -` undoes it",
    REF,
    OTHER_NOTEBOOK,
    *OF_NOTEBOOK,
    function=rewind,
    panel=WRITES,
    moves=True,
    writes=True,
)
def _rewind(call: Call) -> Answer:
    require_own_ref(call, call.arguments.ref)
    return moved(call.session, call.session.rewind(call.arguments.ref), "rewound to")


@at(Door.TERMINAL, "rewind")
def _rewind_detached(call: Call) -> Answer:
    from nbckpt.session import detached

    require_own_ref(call, call.arguments.ref)
    return pointed(detached.rewind(call.session, call.arguments.ref))


def fork(ref: str | Look, branch: str | None = None, /, **values: object) -> MoveResult:
    """Branch off at `ref`, with other values if some are given; the session is on the new branch.

    What was there is checkpointed first, for ``rewind("-")``.

    Parameters
    ----------
    branch
        By default this branch's name with a number: ``main-2``.
    values
        Variables that are to be other than at `ref`.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    BranchExistsError
        If the name is taken.

    Examples
    --------
    ``nbckpt.fork("embed", "try-2", k=5)``
    """
    from nbckpt.session.checkpoint_view import ref_of

    return current_session.session().fork(ref_of(ref), branch, values=values)


@declare(
    "fork",
    "a new branch at a checkpoint, with other values",
    checkpoint_argument(question="where from?"),
    argument("branch", metavar="BRANCH", nargs="?", help="its name"),
    argument(
        "expressions",
        metavar="name=expression",
        nargs="*",
        names=VALUE,
        request="values",
        help="variables that are to be other than at REF",
    ),
    OTHER_NOTEBOOK,
    *OF_NOTEBOOK,
    function=fork,
    panel=WRITES,
    moves=True,
    writes=True,
    more=VALUES,
)
def _fork(call: Call) -> Answer:
    asked = call.arguments
    require_own_ref(call, asked.ref)
    done = call.session.fork(asked.ref, asked.branch, expressions=asked.expressions)
    given = f", with {', '.join(asked.expressions)}" if asked.expressions else ""
    did = f"on new branch {call.session.position.branch!r}{given}, forked at"
    return moved(call.session, done, did)


@at(Door.TERMINAL, "fork")
def _fork_detached(call: Call) -> Answer:
    from nbckpt.session import detached

    asked = call.arguments
    require_own_ref(call, asked.ref)
    return pointed(detached.fork(call.session, asked.ref, asked.branch, asked.expressions))


def switch(branch: str) -> MoveResult:
    """Go to the head of `branch`; what was there is checkpointed first, for ``rewind("-")``.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    """
    return current_session.session().switch(branch)


@declare(
    "switch",
    "choose the branch that a notebook resumes on",
    argument("branch", metavar="BRANCH", names=BRANCH),
    OTHER_NOTEBOOK,
    *OF_NOTEBOOK,
    function=switch,
    panel=WRITES,
    moves=True,
    writes=True,
)
def _switch(call: Call) -> Answer:
    require_own_branch(call, call.arguments.branch)
    done = call.session.switch(call.arguments.branch)
    return moved(call.session, done, f"on branch {call.session.position.branch!r}, at")


@at(Door.TERMINAL, "switch")
def _switch_detached(call: Call) -> Answer:
    from nbckpt.session import detached

    require_own_branch(call, call.arguments.branch)
    return pointed(detached.switch(call.session, call.arguments.branch))


def rerun(
    ref: str | Look | None = None,
    *,
    fresh: bool = False,
    all: bool = False,  # noqa: A002  # the option's name everywhere else
) -> Rerun:
    """Run the recorded cells after `ref` again, up to the first error, which is told.

    What the change cannot have reached is restored. If anything is made, it is on a new branch.

    Parameters
    ----------
    ref
        By default where the session is.
    fresh
        Ask models anew, too.
    all
        Restore nothing.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    UsageError
        If nothing was recorded after it.
    """
    from nbckpt.session.checkpoint_view import ref_of
    from nbckpt.steps.rerun import rerun as reruns

    at = None if ref is None else ref_of(ref)
    return reruns.rerun(current_session.session(), at, fresh=fresh, everything=all)


@declare(
    "rerun",
    "run the recorded cells after a checkpoint again, in a new kernel",
    checkpoint_argument(nargs="?"),
    flag("--fresh", help="replay no model call"),
    flag("--all", help="also the cells that the change cannot have reached", request="everything"),
    flag(AWAITED, help=SUPPRESS, doors=NOTEBOOK_ONLY),
    OTHER_NOTEBOOK,
    *OF_NOTEBOOK,
    function=rerun,
    panel=WRITES,
    moves=True,
    writes=True,
)
def _rerun(call: Call) -> Answer:
    from nbckpt.steps.rerun import rerun as reruns

    asked = call.arguments
    require_own_ref(call, asked.ref)
    return reran(
        call, reruns.rerun(call.session, asked.ref, fresh=asked.fresh, everything=asked.all)
    )


def reran(call: Call, done: Rerun) -> Answer:
    """The answer of a rerun."""
    from nbckpt.steps.rerun.rerun import as_record

    record = as_record(done)
    return Answer(lambda: done.text(call.width), lambda: record, members=record)


def resume(branch: str | None = None, *, fallback: bool = False) -> MoveResult:
    """Bring back the head of `branch`, by default of this one, as after a restart.

    Parameters
    ----------
    fallback
        Take the newest checkpoint that is whole, if the head is damaged.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    CheckpointNotFoundError
        If there is nothing on it.
    FormatError
        If the head is damaged: nothing was changed.
    """
    return current_session.session().resume(branch, fallback=fallback)


@declare(
    "resume",
    "a console with the variables of a branch",
    argument("branch", metavar="BRANCH", nargs="?", names=BRANCH),
    flag("--fallback", help="the newest whole checkpoint, if the head is damaged"),
    argument("-c", metavar="CODE", dest="code", help="run this and leave", doors=TERMINAL_ONLY),
    flag("--once", help="only if the notebook is nowhere yet", doors=PANEL_ONLY),
    argument("--again", help="ids of cells that run after it in any case", doors=PANEL_ONLY),
    OTHER_NOTEBOOK,
    STORE,
    NOTEBOOK,
    function=resume,
    panel=WRITES,
    moves=True,
    more="""\
Code for -c, or a console:

  nbckpt resume main -c "print(model.score(X, y))"
""",
)
def _resume(call: Call) -> Answer:
    asked = call.arguments
    require_own_branch(call, asked.branch)
    done = call.session.resume(asked.branch, fallback=asked.fallback)
    return moved(call.session, done, "resumed at", more=newer_line(call.session))


def newer_line(session: Session) -> str:
    """What is newer than where a resume led, if the notebook had gone back there; else empty."""
    newest = session.timeline.checkpoints.get(session.position.ahead or "")
    if newest is None:
        return ""
    branch = session.position.branch
    return f"gone back there; {branch!r} goes on to {newest.name!r}: %resume {branch} brings that"


def moved(session: Session, done: MoveResult, did: str, *, more: str = "") -> Answer:
    """The answer of a move in a notebook; `did` as in `rewound to`, `more` a line after all."""
    from nbckpt.reports.moves import moved_lines

    return Answer(
        lambda: "\n".join([*moved_lines(done, did, session.notebook), *([more] if more else [])]),
        checkpoint=done.checkpoint.id,
        members={"failed": [refusal._asdict() for refusal in done.failed]},
    )


def pointed(to: Pointed) -> Answer:
    """The answer of a move in a terminal, which changes where a branch points and loads nothing."""
    return Answer(to.text, to.as_record)
