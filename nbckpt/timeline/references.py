"""Checkpoints that users' references mean, and messages where a reference names none. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbckpt.errors import CheckpointNotFoundError, UsageError

if TYPE_CHECKING:
    from nbckpt.model import Checkpoint
    from nbckpt.timeline.timeline import Timeline

SHORTEST_PREFIX = 4
NAME = re.compile(r"\w[\w.+-]*")
NTH = re.compile(r"(?P<name>.+)@(?P<nth>[1-9][0-9]*)")
BACK = re.compile(r"~(?P<steps>[0-9]*)")


def require_name(name: object) -> str:
    """`name` as a checkpoint has it, if a reference can mean it.

    Examples
    --------
    >>> require_name("try-2.1")
    'try-2.1'

    Raises
    ------
    UsageError
        If it is none: ``~1``, ``-`` and ``a@2`` mean something else.
    """
    if isinstance(name, str):
        name = unicodedata.normalize("NFC", name)  # one sign, however it was typed
        if NAME.fullmatch(name):
            return name
    message = (
        f"{name!r} is no name of a checkpoint: use letters, digits, '_', '-' and '.',"
        " and begin with a letter or digit"
    )
    raise UsageError(message)


def resolve(
    timeline: Timeline,
    ref: str,
    *,
    branch: str,
    here: str | None = None,
    before: str | None = None,
    ahead: str | None = None,
) -> Checkpoint:
    """The checkpoint that a user means by `ref`.

    Where two readings fit, the first of these counts: ``-``; ``~N``; a name on this branch, or on
    the line on which the session has gone back; ``NAME@N``; a whole id; a branch; a tag, of the
    newest that has it; the beginning of an id.
    Names and ``~N`` mean finished checkpoints; the others any.

    Parameters
    ----------
    branch
        The branch to look for names on, and for ``~N`` when there is no `here`.
    here
        Id of the checkpoint that the session stands on.
    before
        Id of the one it stood on before it last moved.
    ahead
        Id of the newest one of the line that it has gone back on.

    Raises
    ------
    CheckpointNotFoundError
        If none is meant.
    UsageError
        If `ref` is the beginning of more than one id.
    """
    with timeline.lock:
        starts = [i for i in (here, timeline.tip(branch), ahead) if i is not None]
        if ref == "-":
            return _before(timeline, before)
        if back := BACK.fullmatch(ref):
            return _back(timeline, ref, int(back["steps"] or 1), branch, here)
        found = (
            _on_line(timeline, ref, starts)
            or _nth(timeline, ref, branch, starts)
            or timeline.checkpoints.get(ref)
            or timeline.head(ref)
            or next(iter(timeline.tagged(ref)), None)
            or _by_prefix(timeline, ref)
        )
        if found is None:
            raise CheckpointNotFoundError(_unknown(timeline, ref, branch))
        return found


def short(timeline: Timeline, checkpoint_id: str) -> str:
    """The shortest beginning that means this id alone, 8 characters or more."""
    others = [i for i in timeline.checkpoints if i != checkpoint_id]
    for length in range(8, len(checkpoint_id)):
        if not any(i.startswith(checkpoint_id[:length]) for i in others):
            return checkpoint_id[:length]
    return checkpoint_id


def unknown_branch(timeline: Timeline, branch: str) -> str:
    """The sentence about a branch that does not exist."""
    told, known = f"no branch {branch!r}", list(timeline.branches)
    if not known:
        return f"{told}: nothing has been checkpointed yet"
    if timeline.named(branch):
        return f"{told}: that is a checkpoint, `%rewind {branch}` goes there"
    return f"{told}; {hint(branch, known)}"


def hint(name: str, known: Sequence[str]) -> str:
    """Message on the known names that may be meant by an unknown one."""
    from difflib import get_close_matches

    if close := get_close_matches(name, known, n=3):
        return f"did you mean {' or '.join(map(repr, close))}?"
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return f"there are {', '.join(map(repr, known[:5]))}{more}"


def _before(timeline: Timeline, before: str | None) -> Checkpoint:
    if before is None or before not in timeline.checkpoints:
        message = "'-' is where you were before the last rewind, and there was none"
        raise CheckpointNotFoundError(message)
    return timeline.checkpoints[before]


def _back(timeline: Timeline, ref: str, steps: int, branch: str, here: str | None) -> Checkpoint:
    line = timeline.finished(here or timeline.tip(branch))
    start = 1 if line and here and line[0] != here else 0
    if steps - start < len(line) and steps >= start:
        return timeline.checkpoints[line[steps - start]]
    there = "there is 1" if len(line) == 1 else f"there are {len(line)}"
    message = (
        f"{ref!r} goes back before the first checkpoint: {there} on"
        f" branch {branch!r} up to here; `nbckpt log` lists them"
    )
    raise CheckpointNotFoundError(message)


def _on_line(timeline: Timeline, name: str, starts: Sequence[str]) -> Checkpoint | None:
    for start in starts:
        if made := timeline.made(name, start):
            return timeline.checkpoints[made[0]]
    return None


def _nth(timeline: Timeline, ref: str, branch: str, starts: Sequence[str]) -> Checkpoint | None:
    if not (nth := NTH.fullmatch(ref)):
        return None
    made: list[str] = []
    for start in starts:
        made = timeline.made(nth["name"], start)
        if int(nth["nth"]) <= len(made):
            return timeline.checkpoints[made[-int(nth["nth"])]]
    if not made:
        return None
    message = (
        f"no checkpoint {ref!r}: branch {branch!r} has {nth['name']!r} {len(made)} times;"
        " `nbckpt log` lists them"
    )
    raise CheckpointNotFoundError(message)


def _by_prefix(timeline: Timeline, ref: str) -> Checkpoint | None:
    if len(ref) < SHORTEST_PREFIX:
        return None
    ids = [i for i in timeline.checkpoints if i.startswith(ref)]
    if len(ids) > 1:
        candidates = ", ".join(f"{i} ({timeline.checkpoints[i].name!r})" for i in ids[:5])
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        message = f"{ref!r} is the beginning of more than one id: {candidates}{more}"
        raise UsageError(message)
    return timeline.checkpoints[ids[0]] if ids else None


def _unknown(timeline: Timeline, ref: str, branch: str) -> str:
    name = nth["name"] if (nth := NTH.fullmatch(ref)) else ref
    told = f"no checkpoint {ref!r} on branch {branch!r}"
    named = timeline.named(name)
    if newest := next((c for c in named if c.state == "done"), None):
        where = timeline.branch_of(newest.id)
        place = f"on branch {where!r}" if where else "on no branch any more"
        return f"{told}: {name!r} is {place}: use its id {short(timeline, newest.id)}"
    if named:
        newest = named[0]
        how = "failed" if newest.state == "failed" else "did not finish"
        return f"{told}: {name!r} {how}: use its id {short(timeline, newest.id)}"
    from difflib import get_close_matches

    known = [n for n in [*timeline.names(), *timeline.branches, *timeline.tags()] if n]
    if close := get_close_matches(name, known, n=3):
        told += f"; did you mean {' or '.join(map(repr, close))}?"
    return f"{told}; `nbckpt log` lists them"
