"""Moves from outside of a notebook: where branches point changes, and no value is loaded.

A notebook that runs meanwhile goes on where it is; one that starts resumes where its branch is.
Only a fork or update that gives values restores the variables, in a namespace of its own, because
the expressions are about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nbckpt.capture.trust_gate import require_trusted
from nbckpt.errors import BranchNotFoundError
from nbckpt.model import Checkpoint
from nbckpt.session.moves import branching
from nbckpt.session.session import Session
from nbckpt.text.escape import on_a_line
from nbckpt.timeline.references import unknown_branch


class Pointed(NamedTuple):
    """Where a branch points after a move.

    Attributes
    ----------
    did
        What was done, as in `rewound to`.
    given
        Names that were given values.
    left
        Name of the branch that keeps what was left, if it had no other.
    """

    did: str
    branch: str
    checkpoint: Checkpoint
    given: tuple[str, ...] = ()
    left: str = ""

    def text(self) -> str:
        """The line for people."""
        short = f"{self.checkpoint.name!r} ({self.checkpoint.id[:8]})"
        parts = [f"branch {self.branch!r} {self.did} {short}"]
        parts += [f"given: {', '.join(self.given)}"] * bool(self.given)
        parts += [f"where it was stays on {self.left!r}"] * bool(self.left)
        return on_a_line("; ".join(parts))

    def as_record(self) -> dict[str, object]:
        """The same for programs."""
        c = self.checkpoint
        return {"branch": self.branch, "id": c.id, "name": c.name, "given": list(self.given)}


def rewind(session: Session, ref: str) -> Pointed:
    """Move the session's branch to `ref`; what it leaves stays reachable.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names none.
    UntrustedError
        If the user neither made nor trusts it.
    """
    target = session.get(ref)
    require_trusted(target)
    before = session.position.head
    session.position.move_head(target, told=f"the rewind to {target.name!r}")
    session.writes.record_event("rewound", checkpoint=target.id, name=target.name)
    heads = session.timeline.branches
    left = next((b for b, tip in heads.items() if before and tip == before.id), "")
    return Pointed(
        "is at",
        session.position.branch,
        target,
        left=left if left != session.position.branch else "",
    )


def switch(session: Session, branch: str) -> Pointed:
    """Have the session's notebook resume on `branch`.

    Raises
    ------
    BranchNotFoundError
        If there is no such branch.
    UntrustedError
        If the user neither made nor trusts its head.
    """
    head = session.timeline.head(branch)
    if head is None:
        raise BranchNotFoundError(unknown_branch(session.timeline, branch))
    require_trusted(head)
    session.position.branch = branch
    session.position.move_head(head, told=f"the switch to {branch!r}")
    session.writes.record_event("switched", checkpoint=head.id, name=head.name, branch=branch)
    who = f"notebook {session.notebook!r}" if session.notebook else "the notebook"
    return Pointed(f"is the one that {who} resumes on, at", branch, head)


def fork(session: Session, ref: str, branch: str | None, expressions: Mapping[str, str]) -> Pointed:
    """A new branch at `ref`, with other values if some are given.

    Raises
    ------
    CheckpointNotFoundError, BranchExistsError, UsageError, UntrustedError
        As `Session.fork`.
    """
    if expressions:
        made = session.fork(ref, branch, expressions=expressions).checkpoint
        return Pointed("begins at", session.position.branch, made, tuple(expressions))
    target = session.get(ref)
    require_trusted(target)
    session.position.branch = branching.new_branch(session, branch)
    session.position.move_head(target, told=f"branch {session.position.branch!r}")
    session.writes.record_event(
        "forked", checkpoint=target.id, name=target.name, branch=session.position.branch
    )
    return Pointed("begins at", session.position.branch, target)


def update(session: Session, ref: str, expressions: Mapping[str, str], step: str | None) -> Pointed:
    """Values for variables, as if `step` had made them after `ref`.

    Raises
    ------
    CheckpointNotFoundError, UsageError, UntrustedError
        As `Session.update`.
    """
    made = session.update(ref, {}, step, expressions=expressions)
    return Pointed("is at", session.position.branch, made, tuple(expressions))
