"""Checks that a tracked loop is written so that it can go on, and its results are kept."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import FrameType

from nbckpt.digests import digest_of
from nbckpt.errors import UsageError
from nbckpt.fingerprint.code import nodes_of
from nbckpt.runtime.cell_frames import is_of_cell
from nbckpt.runtime.source_trees import parse


def require_plain(name: str, tree: ast.Module) -> None:
    """Raise unless the step's `track` stands in `for` statements only, right after the `in`.

    Raises
    ------
    UsageError
        If another iterator goes beside it, which would begin anew where it goes on, or if its
        results are gathered in what no checkpoint holds: a comprehension, a function's variable.
    """
    tracks = _tracks(tree)
    if not tracks:
        return
    plain = {id(n.iter) for n in nodes_of(tree) if isinstance(n, ast.For | ast.AsyncFor)}
    parents = {id(c): p for p in nodes_of(tree) for c in ast.iter_child_nodes(p)}
    for call in tracks:
        if id(call) in plain:
            continue
        parent = parents.get(id(call))
        written = _written(call)
        message = f"checkpoint {name!r}: `{written}` must stand in a `for` statement: "
        if isinstance(parent, ast.Call) and call in parent.args:
            message = f"checkpoint {name!r}: `{_written(parent)}` does not go on where it was: "
            message += f"write `for … in {_inside_out(parent, call)}:`"
        else:
            message += f"write `for item in {written}:`"
        raise UsageError(message)


def require_top_level(name: str, frame: FrameType, namespace: Mapping[str, object]) -> None:
    """Raise unless a loop's variables are the notebook's.

    Raises
    ------
    UsageError
        If it is inside a function: what its items made would be lost with the function.
    """
    if is_of_cell(frame, namespace):
        return
    message = (
        f"checkpoint {name!r}: `track` is inside a function: "
        "use it at the top level, where what its items make is kept"
    )
    raise UsageError(message)


def _tracks(tree: ast.AST) -> list[ast.Call]:
    """The calls of the step's own `track`; the step's name is a constant in its code."""
    return [node for node in nodes_of(tree) if isinstance(node, ast.Call) and _is_track(node.func)]


def _is_track(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(value=ast.Constant() | ast.Name(id="nbckpt"), attr="track"):
            return True
    return False


def loop_name(cell: ast.Module | None) -> str:
    """Name of the step that a loop is by itself: of its items and of its cell, if there is one.

    Loops of two cells ask for samples of their own, whatever both go through.
    """
    if cell is None:
        return "track"
    given = {
        call.args[0].id for call in _tracks(cell) if call.args if isinstance(call.args[0], ast.Name)
    }
    items = f" {given.pop()}" if len(given) == 1 else ""
    return f"track{items} in cell {digest_of(ast.unparse(cell))[:8]}"


def has_more(tree: ast.Module) -> bool:
    """True if another tracked loop may follow one that has ended."""
    if len(_tracks(tree)) != 1:
        return True
    around = (n for n in nodes_of(tree) if isinstance(n, ast.For | ast.While | ast.AsyncFor))
    return any(_tracks(statement) for outer in around for statement in outer.body)


def _written(node: ast.expr) -> str:
    """`node` as its user wrote it."""
    tree = parse(ast.unparse(node), mode="eval")
    for call in _tracks(tree):
        assert isinstance(call.func, ast.Attribute)
        if isinstance(call.func.value, ast.Constant):
            call.func.value = ast.Name(str(call.func.value.value), ast.Load())
    return ast.unparse(tree)


def _inside_out(outer: ast.Call, track: ast.Call) -> str:
    """``step.track(zip(xs, ys))`` for ``zip(step.track(xs), ys)``."""
    args = [track.args[0] if arg is track and track.args else arg for arg in outer.args]
    inner = ast.Call(outer.func, args, outer.keywords)
    return _written(ast.Call(track.func, [inner], []))


def caller() -> FrameType:
    """The frame that called the function that asks."""
    return sys._getframe(2)  # noqa: SLF001  # the only way to ask
