"""Reducers that join an update to the value that is there: read from `Annotated[list, add]`.

An annotation of the notebook's is looked for where Python keeps it. Dunder names do not come back
with a checkpoint, so the recorded cells are read too, newest first.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, get_args

from nbckpt.errors import TRUST_IT, UntrustedError, UsageError
from nbckpt.model import Cell, Checkpoint
from nbckpt.runtime.source_trees import parse
from nbckpt.runtime.user_code_errors import user_code_errors

Reducer: TypeAlias = Callable[[Any, Any], object]


def annotated(
    variable: str, namespace: dict[str, object], line: Iterable[Checkpoint]
) -> Reducer | None:
    """The reducer in a variable's annotation; None if it has none.

    Parameters
    ----------
    line
        The checkpoints whose cells made the namespace, newest first.

    Raises
    ------
    UsageError
        If an `Annotated` cannot be evaluated: nobody knows how to join the values then.
    """
    live = namespace.get("__annotations__")
    if isinstance(live, Mapping) and variable in live:
        return reducer_of(_meaning(variable, live[variable], namespace))
    for checkpoint in line:
        for cell in (checkpoint.cell, *reversed(checkpoint.joined)):
            if (text := annotation_in(cell, variable)) is not None:
                _require_trusted(variable, text, checkpoint)
                return (
                    reducer_of(_meaning(variable, text, namespace)) if checkpoint.trusted else None
                )
    return None


def _require_trusted(variable: str, text: str, checkpoint: Checkpoint) -> None:
    if checkpoint.trusted or "Annotated" not in text:
        return
    message = (
        f"{variable}: what joins its values is said by {checkpoint.name!r}, which may be another"
        f" user's code; {TRUST_IT}, or give one with `nbckpt.reducer({variable!r}, …)`"
    )
    raise UntrustedError(message)


def reducer_of(annotation: object) -> Reducer | None:
    """The last of what an `Annotated` says beside its type, if it can be called."""
    if not hasattr(annotation, "__metadata__"):
        return None
    last = get_args(annotation)[-1]
    return last if callable(last) and not isinstance(last, type) else None


def annotation_in(cell: Cell, variable: str) -> str | None:
    """The annotation that a cell gives a variable at its top level, as text."""
    if variable not in cell.source:
        return None
    from nbckpt.fingerprint.code.magiclines import without_magics

    try:
        tree = parse(without_magics(cell.source))
    except (SyntaxError, ValueError):
        return None
    found = [
        ast.unparse(node.annotation)
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == variable
    ]
    return found[-1] if found else None


def _meaning(variable: str, annotation: object, namespace: dict[str, object]) -> object:
    """Meaning of an annotation; one that is text is evaluated; None if it is of no use here."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(namespace))  # the notebook's own annotation
    except user_code_errors() as problem:  # a name that is gone
        if "Annotated" not in annotation:
            return None  # it told no reducer
        message = (
            f"{variable}: {annotation} tells no reducer here ({type(problem).__name__}: {problem});"
            f" nothing was changed: give one with `nbckpt.reducer({variable!r}, …)`"
        )
        raise UsageError(message) from problem
