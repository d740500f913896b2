"""Values that were given by hand, by a fork or an update: a rerun leaves them as they are."""

from __future__ import annotations

import ast
from collections import Counter
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

    Or what its cells made of that: after ``n = n * 10`` the given `n` still counts.

    Returns
    -------
    Name → id of the checkpoint that gave it.
    """
    return dict(GivenValues(timeline).at(checkpoint_id))


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
            anew = _bound_anew(checkpoint, given.keys())
            given = {n: by for n, by in given.items() if n not in anew}
            if checkpoint.made_by in BY_HAND:
                given |= dict.fromkeys(checkpoint.bound, checkpoint.id)
        self._at, self._given = checkpoint_id, given
        return given


def _bound_anew(checkpoint: Checkpoint, given: Set[str]) -> set[str]:
    """Given names that stand for something else since; what is made of the given is no else."""
    anew = {*checkpoint.bound, *checkpoint.removed} - {*checkpoint.in_place}
    anew &= given
    if not anew or checkpoint.made_by in BY_HAND:
        return anew
    pieces = [parsed(without_marker(c.source)) for c in (*checkpoint.joined, checkpoint.cell)]
    return {n for n in anew if not any(n in made_of_itself(piece, {n}) for piece in pieces)}


def overwritten(piece: Recorded, given: Set[str]) -> frozenset[str]:
    """Those of some variables that a recorded cell binds, and not to what it makes of them."""
    if not given or piece.kind == "nothing":
        return frozenset()
    tree = parsed(without_marker(piece.cell.source))
    deletes = (node for node in ast.walk(tree) if isinstance(node, ast.Delete))
    deleted = {t.id for node in deletes for t in node.targets if isinstance(t, ast.Name)}
    bound = given & {*code.names_of_tree(tree).binds, *deleted}
    return frozenset(bound - made_of_itself(tree, bound))


def made_of_itself(tree: ast.Module, names: Set[str]) -> set[str]:
    """Those of some names that code binds, each time, to what it makes of them: ``n = n * 10``."""
    made, bound = Counter[str](), Counter[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                bound[name] += 1
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                bound[name] += 1
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                bound[name] += 1
            case ast.alias():
                bound[node.asname or node.name.partition(".")[0]] += 1
        match node:
            case ast.AugAssign(target=ast.Name(id=name)):
                made[name] += 1
            case ast.Assign(targets=targets, value=value):
                made.update(_names_in(targets) & _read_outside(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                made.update(_names_in([target]) & _read_outside(value))
    return {name for name in names if made[name] and made[name] == bound[name]}


def _read_outside(value: ast.expr) -> frozenset[str]:
    """Variables of the notebook that an expression reads: not those of a lambda's own."""
    expression = ast.copy_location(ast.Expr(value), value)
    return code.names_of_tree(ast.Module([expression], [])).reads


def _names_in(targets: list[ast.expr]) -> set[str]:
    return {target.id for target in targets if isinstance(target, ast.Name)}


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


def _read_in(code: ast.stmt | ast.expr) -> set[str]:
    nodes = (node for node in ast.walk(code) if isinstance(node, ast.Name))
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
