"""The cells of a notebook and their marks, as a user sees them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.notebooks import Notebook

MODEL = "window.jupyterapp.shell.currentWidget.content.model.sharedModel"
STATES = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .map(cell => cell.node.dataset.nbckpt ?? '')"""
SETTING = """async ([plugin, name, value]) => {
  const services = window.jupyterapp.pluginRegistry ?? window.jupyterapp; // before 4.3
  const token = [...services._services.keys()]
    .find(each => each.name === '@jupyterlab/coreutils:ISettingRegistry');
  const registry = await services.resolveRequiredService(token);
  await registry.set(plugin, name, value);
}"""


class Marked:
    """The cells of one notebook."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self.page = notebook.page

    def cell(self, index: int) -> Locator:
        """A cell, by its place."""
        return self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{index}"]')

    def mark(self, index: int) -> Locator:
        """The mark of a cell."""
        return self.cell(index).locator(".nbckpt-CellMark")

    def expect(self, index: int, text: str) -> None:
        """Wait until the mark of a cell says so."""
        expect(self.mark(index)).to_have_text(text)

    def states(self) -> list[str]:
        """Those of all cells, also of cells that are not drawn; empty where there is no mark."""
        states: Any = self.page.evaluate(STATES)
        return list(states)

    def edit(self, index: int, source: str) -> None:
        """Give a cell another text, as typing does."""
        self.page.evaluate(
            f"([index, source]) => {MODEL}.cells[index].setSource(source)", [index, source]
        )

    def source(self, index: int) -> str:
        """The text of a cell."""
        return str(self.page.evaluate(f"index => {MODEL}.cells[index].getSource()", index))

    def outputs(self, index: int) -> str:
        """What a cell shows, as text, output by output."""
        shown = self.cell(index).locator(".jp-OutputArea-output").all_inner_texts()
        return "\n".join(text.strip() for text in shown)

    def choose(self, name: str, value: str, of: str = "nbckpt:plugin") -> None:
        """Change a setting, of nbckpt or of another plugin."""
        self.page.evaluate(SETTING, [of, name, value])
