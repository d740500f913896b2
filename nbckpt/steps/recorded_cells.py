"""Code recorded after a checkpoint, as it can run again: cells, in order, each once.

A line of checkpoints says more than that: cells that were joined to the next one, blocks inside a
cell that was kept itself, and checkpoints for which no code ran.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from nbckpt.capture.untrusted import require_trusted
from nbckpt.errors import TRUST_IT, UntrustedError, UsageError
from nbckpt.fingerprint import code
from nbckpt.fingerprint.code.magiclines import without_magics
from nbckpt.model import Cell, Checkpoint, Record, is_trusted
from nbckpt.text.units import count_text
from nbckpt.timeline.cell_outcomes import label_of
from nbckpt.timeline.following import following

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.timeline.timeline import Timeline

Kind: TypeAlias = Literal["cell", "block", "joined", "nothing"]

_MOST_NAMED = 4
_MARKED = re.compile(r"\s*(#[ \t]*)?%%checkpoint(?!\S)")


class Recorded(NamedTuple):
    """One piece of code that ran, or a checkpoint for which none did.

    Attributes
    ----------
    checkpoint
        Whose line it is; of a joined cell, the one that it was joined to.
    cell
        The code, as it was typed.
    since
        Id of the checkpoint before all that this one did: its parent or, where blocks stand in its
        own code, theirs.
    kind
        ``cell``: it was kept by itself; ``block``: the body of a `with` statement; ``joined``: it
        was kept with the next one; ``nothing``: no code ran.
    """

    checkpoint: Checkpoint
    cell: Cell
    kind: Kind
    since: str | None

    @property
    def name(self) -> str:
        """Name that people know it by."""
        if self.kind != "joined":
            return self.checkpoint.name
        return label_of(self.cell.source, self.cell.cell_id or "")


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


def recorded(line: Sequence[Checkpoint]) -> list[Recorded]:
    """The code of a line of checkpoints, oldest first, each piece once.

    A block that stands in a cell of the line is run by that cell.
    """
    pieces = [piece for checkpoint in line for piece in _pieces(checkpoint)]
    found: list[Recorded] = []
    inside: str | None = None  # the parent of the first of the blocks that were passed over
    for i, piece in enumerate(pieces):
        if piece.kind == "block" and _is_inside(piece, pieces[i:]):
            inside = inside or piece.since
            continue
        found.append(piece._replace(since=inside or piece.since))
        if piece.kind != "joined":
            inside = None
    return found


def _pieces(checkpoint: Checkpoint) -> Iterator[Recorded]:
    parent = checkpoint.parent
    yield from (Recorded(checkpoint, cell, "joined", parent) for cell in checkpoint.joined)
    yield Recorded(checkpoint, checkpoint.cell, _kind(checkpoint), parent)


def _kind(checkpoint: Checkpoint) -> Kind:
    cell = checkpoint.cell
    if checkpoint.made_by or not cell.source.strip():
        return "nothing"
    is_cell = cell.cell_id is not None or cell.execution_count is not None
    return "cell" if is_cell or not _is_block(cell.source) else "block"


def _is_block(source: str) -> bool:
    body = parsed(source).body
    return len(body) == 1 and isinstance(body[0], ast.With)


def _is_inside(block: Recorded, later: Sequence[Recorded]) -> bool:
    """True if a block stands in the next cell of the line, whose end came after the block's."""
    written = block.cell.source
    for piece in later:
        if piece.kind in ("cell", "joined"):
            withs = (n for n in ast.walk(parsed(piece.cell.source)) if isinstance(n, ast.With))
            if any(ast.unparse(node) == written for node in withs):
                return True
        if piece.kind == "cell":
            return False
    return False


def parsed(source: str) -> ast.Module:
    """The code without its magics; empty if it cannot be read without IPython."""
    try:
        return ast.parse(without_magics(source))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def without_marker(source: str) -> str:
    """The code of a cell without its ``%%checkpoint`` line."""
    lines = source.splitlines(keepends=True)
    return "".join(line for line in lines[:2] if not _MARKED.match(line)) + "".join(lines[2:])


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
    begun = _last_begun(session.store.records("event"), session.position.branch)
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
    own = (e for e in reversed(events) if e["event"] in ("rerun", "reran") and is_trusted(e))
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
