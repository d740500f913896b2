"""A notebook file: read with cell ids that stay, written whole or not at all."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import nbformat

from nbckpt.digests import digest_of
from nbckpt.errors import StoreError, UsageError
from nbckpt.storage.disk import OTHERS_TOO
from nbckpt.storage.new_files import create_beside

ID_LENGTH = 8
WRITE_SHARE = 0.05
"""Of the time of a run, what writing the notebook after a cell may take."""


def read(path: Path) -> Any:
    """The notebook at `path`, as nbformat 4.5.

    Cells of older formats have no ids. They get ones made from their source, so that they have
    the same ones the next time.

    Raises
    ------
    UsageError
        If there is none, or it cannot be read as one.
    """
    try:
        text = path.read_text("utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing ids, which are given below
            notebook = nbformat.reads(text, as_version=4)
    except OSError as error:
        message = f"{path} cannot be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(message) from error
    except Exception as error:  # whatever nbformat and its schemas find wrong with the text
        message = f"{path} is no notebook that can be read: {_first_line(error)}"
        raise UsageError(message) from error
    if not _has_ids(text):
        _give_ids(notebook)
    return notebook


def without_outputs(notebook: Any) -> Any:
    """`notebook`, its code cells as if they had never run; changed in place."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("execution", None)
    return notebook


def write(notebook: Any, path: Path) -> None:
    """Put `notebook` at `path`; whoever reads there finds the old one or the new one.

    Raises
    ------
    StoreError
        If the disk refuses.
    """
    text = nbformat.writes(notebook)
    try:
        with create_beside(path, mode=OTHERS_TOO) as file:
            file.write(text.encode("utf-8", "replace") + b"\n")
    except OSError as error:
        message = f"{path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise StoreError(message) from error


class Out:
    """An executed notebook that is written again and again while it grows.

    Parameters
    ----------
    document
        The notebook; others change it.
    path
        Where it goes.
    """

    def __init__(self, document: Any, path: Path) -> None:
        self.document = document
        self.path = path
        self._is_new = False
        self._written_at = 0.0
        self._cost_s = 0.0

    def changed(self) -> None:
        """Write it soon."""
        self._is_new = True
        self.write_if_due()

    def write_if_due(self) -> None:
        """Write what is new in it, unless that took long the last time and was not long ago."""
        if self._is_new and self._cost_s <= WRITE_SHARE * (time.monotonic() - self._written_at):
            self.write()

    def write(self) -> None:
        """Write it now.

        Raises
        ------
        StoreError
            If the disk refuses.
        """
        began = time.monotonic()
        write(self.document, self.path)
        self._is_new, self._written_at = False, time.monotonic()
        self._cost_s = self._written_at - began


def _has_ids(text: str) -> bool:
    cells = json.loads(text).get("cells", [{}])
    ids = {cell.get("id") for cell in cells}
    return None not in ids and len(ids) == len(cells)


def _give_ids(notebook: Any) -> None:
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        nth = seen[cell.source] = seen.get(cell.source, 0) + 1
        cell.id = digest_of(f"{nth}\n{cell.source}")[:ID_LENGTH]
    notebook.nbformat_minor = max(notebook.nbformat_minor, 5)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
