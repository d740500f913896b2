"""Notebooks to run in tests: made of cells, in a folder of their own, by a kernel with nbckpt."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat

import nbckpt

SOURCE = str(Path(nbckpt.__file__).parents[1])

DIE_ONCE = """
def die_once():
    import os, pathlib, signal
    if not pathlib.Path("died").exists():
        pathlib.Path("died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
"""

NOTE = """
def note(text):
    with open("log", "a") as file:
        file.write(f"{text}\\n")
"""


def environment() -> dict[str, str]:
    """This process's, with which any Python finds this nbckpt, and with no store named."""
    own = {k: v for k, v in os.environ.items() if k != "NBCKPT_STORE"}
    return {**own, "PYTHONPATH": os.pathsep.join([SOURCE, own.get("PYTHONPATH", "")])}


def write_notebook(
    path: Path,
    cells: Mapping[str, str],
    tags: Mapping[str, Sequence[str]] | None = None,
    kernel: str = "python3",
) -> Path:
    """A notebook at `path`, of code cells by id."""
    kernelspec = {"name": kernel, "display_name": kernel, "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernelspec})
    for cell_id, source in cells.items():
        cell = nbformat.v4.new_code_cell(source.strip())
        cell.id = cell_id
        if tags and cell_id in tags:
            cell.metadata["tags"] = list(tags[cell_id])
        notebook.cells.append(cell)
    nbformat.write(notebook, path)
    return path


def texts_of(path: Path) -> dict[str, str]:
    """Cell id → what it printed, its result, or its error, of an executed notebook."""
    cells = nbformat.read(path, as_version=4).cells
    return {c.id: "".join(map(_text, c.outputs)) for c in cells if c.cell_type == "code"}


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    is_notice = output.output_type == "display_data"
    return "" if is_notice else str(output.data["text/plain"])


def noted(folder: Path) -> list[str]:
    """The lines that cells noted, oldest first."""
    log = folder / "log"
    return log.read_text().splitlines() if log.exists() else []
