"""The plan of a rerun: the cells recorded after a checkpoint, also where one did not finish."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.capture.trust_gate import require_trusted
from nbckpt.errors import TRUST_IT, UntrustedError, UsageError
from nbckpt.fingerprint import code
from nbckpt.model import Checkpoint, Record, is_trusted
from nbckpt.session.history.recorded_cells import Recorded, parsed, recorded
from nbckpt.text.units import count_text
from nbckpt.timeline.following import following

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.timeline.timeline import Timeline

_MOST_NAMED = 4
_RERUNS = ("rerun", "reran")


class Plan(NamedTuple):
    """Plan of a rerun.

    Attributes
    ----------
    start
        Checkpoint where it begins.
    origin
        Id of the one where it began first, if an earlier rerun on this branch did not finish.
    line
        Id of the newest checkpoint of the line that is followed.
    cells
        Cells to run, oldest first.
    """

    start: Checkpoint
    origin: str
    line: str
    cells: tuple[Recorded, ...]


def plan(session: Session, ref: str | None) -> Plan:
    """Plan to rerun the cells recorded after `ref`, by default after the session's position.

    Raises
    ------
    CheckpointNotFoundError
        If `ref` names no checkpoint.
    UsageError
        If nothing was recorded after it.
    UntrustedError
        If another user may have written them.
    """
    session.refresh()
    start = session.get(ref) if ref is not None else _here(session)
    require_trusted(start)
    timeline, came_from = session.timeline, session.position.origin
    origin, line = _unfinished(session, start) or (start.id, [])
    if not line:
        line = following(timeline, start.id, branch=session.position.branch, origin=came_from)
    if not line and came_from is not None and came_from in timeline.checkpoints:
        line = _left(timeline, came_from, start.id, _between(timeline, start.id, came_from))
    cells = tuple(recorded(line))
    if all(cell.kind == "nothing" for cell in cells):
        message = (
            f"nothing was recorded after {start.name!r}: name an earlier checkpoint, "
            "as in `%rerun ~2`; `nbckpt log --all` lists them"
        )
        raise UsageError(message)
    _require_trusted(start, cells)
    if starred := [cell.name for cell in cells if cell.cell.starred]:
        message = (
            f"what was recorded after {start.name!r} is not run: a secret was taken out of "
            f"{starred[0]!r}; run the cells of the notebook instead"
        )
        raise UsageError(message)
    return Plan(start, origin, line[-1].id, cells)


def _require_trusted(start: Checkpoint, cells: Iterable[Recorded]) -> None:
    names = [cell.name for cell in cells if not cell.checkpoint.trusted]
    if names:
        told = ", ".join(map(repr, dict.fromkeys(names[:_MOST_NAMED])))
        message = (
            f"what was recorded after {start.name!r} is not run: {told} may be another user's code"
            f" ({count_text(len(names), 'cell')}); {TRUST_IT}"
        )
        raise UntrustedError(message)


def _here(session: Session) -> Checkpoint:
    here = session.position.id or (session.position.head.id if session.position.head else None)
    if here is None:
        message = "nothing was recorded yet: put `%%checkpoint NAME` above a cell and run it"
        raise UsageError(message)
    return session.timeline.checkpoints[here]


def made_between(checkpoint: Checkpoint) -> set[str]:
    """Variables that changed before a checkpoint by something else than recorded code."""
    changed = {*checkpoint.changed, *checkpoint.removed}
    if not checkpoint.cell.source.strip() or checkpoint.made_by:
        return changed if not checkpoint.joined else set()
    made = changed - set(checkpoint.bound)
    for cell in checkpoint.joined:
        tree = parsed(cell.source)
        names = code.names_of_tree(tree)
        if not tree.body or names.everything:
            return set()
        made -= {*names.binds, *names.loads}
    return made


# -- a rerun that did not finish ------------------------------------------------------------------


def _unfinished(session: Session, start: Checkpoint) -> tuple[str, list[Checkpoint]] | None:
    """Where a rerun on this branch began, and what of its line is left from `start` on.

    None if the last one finished, or if `start` is not on its branch.
    """
    timeline, head = session.timeline, session.position.head
    begun = _last_begun([*session.store.events.chosen(_RERUNS)], session.position.branch)
    if head is None or begun is None:
        return None
    origin, newest = begun["origin"], begun["line"]
    if origin not in timeline.checkpoints or newest not in timeline.checkpoints:
        return None  # pruned
    if not timeline.is_ancestor(origin, start.id) or not timeline.is_ancestor(start.id, head.id):
        return None
    line = _between(timeline, origin, newest)
    own = {c.name for c in _between(timeline, origin, head.id)}
    if start.id != head.id and not own <= {c.name for c in line}:
        return None  # the branch went another way since, and that is what follows
    return origin, _left(timeline, origin, start.id, line)


def _last_begun(events: Sequence[Record], branch: str) -> Record | None:
    own = filter(is_trusted, reversed(events))
    newest = next((e for e in own if e.get("branch") == branch), None)
    if newest is None or newest.get("state") == "done":
        return None
    return newest


def _between(timeline: Timeline, older: str, newer: str) -> list[Checkpoint]:
    """The finished checkpoints of the line of `newer` from where `older` left it, oldest first."""
    line = reversed(timeline.ancestry(newer))
    return [c for c in line if c.state == "done" and not timeline.is_ancestor(c.id, older)]


def _left(timeline: Timeline, origin: str, at: str, line: list[Checkpoint]) -> list[Checkpoint]:
    """Checkpoints of a line that are still to do, where the session stands `at` another one."""
    for done in _between(timeline, origin, at):
        names = [c.name for c in line]
        if done.name in names:
            line = line[names.index(done.name) + 1 :]
    return line
