"""Notebooks from files: `.ipynb`, and scripts in sphinx-gallery's or jupytext's percent form."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat

from nbckpt.jupyter.runner import ipynb

_BREAK = re.compile(r"^(# ?%%.*|#{20,})$")


def files_of(places: Sequence[Path]) -> Iterator[Path]:
    """The notebooks and scripts among `places`; of a folder, all below it."""
    for place in places:
        if place.is_dir():
            found = [*place.rglob("*.ipynb"), *place.rglob("*.py")]
            yield from sorted(p for p in found if ".ipynb_checkpoints" not in p.parts)
        else:
            yield place


def notebook_of(path: Path) -> Any:
    """The notebook in a file, without outputs.

    Raises
    ------
    ValueError
        If it is none: a script without cells, or one that is not Python.
    """
    if path.suffix == ".ipynb":
        notebook = ipynb.without_outputs(ipynb.read(path))
    else:
        notebook = _notebook_of_script(path.read_text("utf-8"))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    notebook.cells = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    for number, cell in enumerate(notebook.cells):
        cell.metadata.pop("execution", None)
        cell.id = f"cell-{number}"
    if not notebook.cells:
        message = f"{path.name} has no cells of code"
        raise ValueError(message)
    return notebook


def _notebook_of_script(text: str) -> Any:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        message = f"not Python: {error.msg}"
        raise ValueError(message) from error
    cells: list[list[str]] = [[]]
    for line in _without_docstring(text, tree).splitlines():
        if _BREAK.match(line):
            cells.append([])
        else:
            cells[-1].append(line)
    sources = [_code_of(lines) for lines in cells]
    if len([s for s in sources if s]) == 1:
        sources = _by_statements(sources)
    new = nbformat.v4.new_code_cell
    return nbformat.v4.new_notebook(cells=[new(source) for source in sources if source])


def _without_docstring(text: str, tree: ast.Module) -> str:
    if not tree.body or ast.get_docstring(tree) is None:
        return text
    end = tree.body[0].end_lineno or 0
    return "\n".join(text.splitlines()[end:])


def _code_of(lines: list[str]) -> str:
    """A block without the comment that opens it; empty if nothing else is there."""
    source = textwrap.dedent("\n".join(lines)).strip("\n")
    has_code = any(line.strip() and not line.lstrip().startswith("#") for line in lines)
    return source if has_code else ""


def _by_statements(sources: list[str]) -> list[str]:
    """Cells of some five lines each, of a script that has no breaks."""
    cells: list[str] = []
    for source in filter(None, sources):
        lines = source.splitlines()
        begin, filled = 0, 0
        body = ast.parse(source).body
        for node in body:
            filled += (node.end_lineno or 0) - node.lineno + 1
            if filled >= 5 or node is body[-1]:
                cells.append("\n".join(lines[begin : node.end_lineno]))
                begin, filled = node.end_lineno or 0, 0
    return cells


def edited(notebook: Any, number: int) -> Any | None:
    """A copy in which a constant of one cell is another; None if the cell has none to change."""
    source = notebook.cells[number].source
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if type(node) is ast.Constant and type(node.value) in (int, float) and node.value > 1:
            other = node.value + 1 if type(node.value) is int else node.value * 1.25
            lines = source.splitlines()
            line = lines[node.lineno - 1].encode()
            assert node.end_col_offset is not None
            changed = line[: node.col_offset] + repr(other).encode() + line[node.end_col_offset :]
            lines[node.lineno - 1] = changed.decode()
            copy = nbformat.from_dict(notebook)
            copy.cells[number].source = "\n".join(lines)
            return copy
    return None
