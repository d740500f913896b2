"""Values that were given by hand, by a fork or an update: a rerun leaves them as they are."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from nbckpt.fingerprint import code
from nbckpt.session.history.recorded_cells import Recorded, parsed, without_marker

if TYPE_CHECKING:
    from nbckpt.model import Checkpoint
    from nbckpt.timeline.timeline import Timeline

BY_HAND = ("fork", "update")
_EFFECTS = (ast.Call, ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def given_at(timeline: Timeline, checkpoint_id: str) -> dict[str, str]:
    """Variables that hold at a checkpoint what they were given by hand on its line.

    Returns
    -------
    Name → id of the checkpoint that gave it.
    """
    given: dict[str, str] = {}
    bound_since: set[str] = set()
    for checkpoint in timeline.ancestry(checkpoint_id):
        if checkpoint.made_by in BY_HAND:
            given |= dict.fromkeys({*checkpoint.bound} - bound_since - given.keys(), checkpoint.id)
        bound_since |= _bound_anew(checkpoint)
    return given


class GivenValues:
    """`given_at` of one place after the other: only what is new of a line is looked at."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._at: str | None = None
        self._given: dict[str, str] = {}

    def at(self, checkpoint_id: str) -> Mapping[str, str]:
        """What `given_at` gives; not to be changed."""
        if not self._timeline.has_given:
            return {}
        known = self._timeline.checkpoints
        new: list[Checkpoint] = []
        i: str | None = checkpoint_id
        while i is not None and i != self._at and i in known:
            new.append(known[i])
            i = new[-1].parent
        given = dict(self._given) if i == self._at and i is not None else {}
        for checkpoint in reversed(new):
            anew = _bound_anew(checkpoint)
            given = {n: by for n, by in given.items() if n not in anew}
            if checkpoint.made_by in BY_HAND:
                given |= dict.fromkeys(checkpoint.bound, checkpoint.id)
        self._at, self._given = checkpoint_id, given
        return given


def _bound_anew(checkpoint: Checkpoint) -> set[str]:
    """Names that stand for something else since; what is changed in place is what was given."""
    return {*checkpoint.bound, *checkpoint.removed} - {*checkpoint.in_place}


def overwritten(piece: Recorded, given: Set[str]) -> frozenset[str]:
    """Those of some variables that a recorded cell binds."""
    if not given or piece.kind == "nothing":
        return frozenset()
    tree = parsed(without_marker(piece.cell.source))
    deletes = (node for node in ast.walk(tree) if isinstance(node, ast.Delete))
    deleted = {t.id for node in deletes for t in node.targets if isinstance(t, ast.Name)}
    return frozenset(given & {*code.names_of_tree(tree).binds, *deleted})


def binds_only(piece: Recorded, names: Set[str]) -> bool:
    """True if all that a cell does is to bind some variables, and not by what they hold.

    It calls nothing, which might do more.
    """
    body = parsed(without_marker(piece.cell.source)).body
    waiting = set(names)
    for statement in body:
        if not _is_binding(statement, names) or _read_in(statement) & waiting:
            return False
        waiting -= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    return bool(body)


def _read_in(statement: ast.stmt) -> set[str]:
    nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in nodes if isinstance(node.ctx, ast.Load)}


def _is_binding(statement: ast.stmt, names: Set[str]) -> bool:
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    else:
        return False
    are_given = all(_is_given(target, names) for target in targets)
    return are_given and not any(isinstance(node, _EFFECTS) for node in ast.walk(statement))


def _is_given(target: ast.expr, names: Set[str]) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(_is_given(element, names) for element in target.elts)
    return isinstance(target, ast.Name) and target.id in names
