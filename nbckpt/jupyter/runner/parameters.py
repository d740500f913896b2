"""Parameters of a notebook, as papermill has them: a tagged cell of defaults, and one that wins.

The cell tagged ``parameters`` holds the defaults. What is given goes into a cell of its own right
after it, tagged ``injected-parameters``, which replaces the one of an earlier run.
"""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Iterable, Mapping
from typing import Any

import nbformat

from nbckpt.errors import UsageError
from nbckpt.runtime.source_trees import parse

DEFAULTS = "parameters"
INJECTED = "injected-parameters"

_WORDS = {"true": True, "false": False, "none": None}


def typed(text: str) -> object:
    """The value that `text` stands for on a command line: a word, a number, or the text itself.

    Examples
    --------
    >>> [typed(t) for t in ("True", "none", "12", "1e-3", "2024-05-01")]
    [True, None, 12, 0.001, '2024-05-01']
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def inject(notebook: Any, parameters: Mapping[str, object]) -> tuple[str, ...]:
    """The names in `parameters` that the notebook does not have; all are set in it.

    Parameters
    ----------
    notebook
        An nbformat 4.5 notebook; changed in place.
    parameters
        Name → bool, None, int, float or text.

    Returns
    -------
    tuple of str
        Those that the cell tagged ``parameters`` does not bind; all of them if there is none.

    Raises
    ------
    UsageError
        If a name is none that a variable can have.
    """
    _require_names(parameters)
    cells = [cell for cell in notebook.cells if INJECTED not in _tags(cell)]
    at = next((i for i, cell in enumerate(cells) if DEFAULTS in _tags(cell)), None)
    known = set() if at is None else _bound(cells[at].source)
    cells.insert(0 if at is None else at + 1, _injected(parameters))
    notebook.cells = cells
    return tuple(name for name in parameters if name not in known)


def _require_names(names: Iterable[str]) -> None:
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            message = f"{name!r} is no name that a variable can have: write -p NAME VALUE"
            raise UsageError(message)


def _injected(parameters: Mapping[str, object]) -> Any:
    lines = [f"{name} = {_literal(value)}" for name, value in parameters.items()]
    cell = nbformat.v4.new_code_cell("\n".join(["# Parameters", *lines]))
    cell.id = INJECTED  # always the same, so that its checkpoint is found again
    cell.metadata["tags"] = [INJECTED]
    return cell


def _literal(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def _bound(source: str) -> set[str]:
    """The names that a cell of assignments binds."""
    try:
        tree = parse(source)
    except SyntaxError:  # a magic among them
        return {line.split("=")[0].split(":")[0].strip() for line in source.splitlines()}
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}
