"""Notebooks of our own, one for each of the styles in which people write them."""

from __future__ import annotations

from pathlib import Path

import nbformat

from tests.bench.notebooks.styles.data import DATA
from tests.bench.notebooks.styles.language import LANGUAGE
from tests.bench.notebooks.styles.surroundings import SURROUNDINGS
from tests.bench.small_notebooks.notebook import cells_of

STYLES = {**DATA, **LANGUAGE, **SURROUNDINGS}


def write_styles(folder: Path) -> None:
    """Write each style as a notebook file."""
    for name, text in STYLES.items():
        cells = [nbformat.v4.new_code_cell(source) for source in cells_of(text)]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / f"{name}.ipynb")
