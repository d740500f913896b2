"""A notebook that is open in a browser, and the timeline in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page

from tests.browser.applications import Application

READY = """() => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  return panel?.sessionContext?.session?.kernel?.status === 'idle';
}"""
CELLS = """sources => {
  const model = window.jupyterapp.shell.currentWidget.content.model.sharedModel;
  const old = model.cells.length;
  model.insertCells(0, sources.map(source => ({ cell_type: 'code', source })));
  model.deleteCellRange(sources.length, sources.length + old);
}"""
RUN = """([index, waits]) => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = index;
  notebook.deselectAll();
  const done = window.jupyterapp.commands.execute('notebook:run-cell');
  return waits ? done : undefined;
}"""
THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"

NOT_OURS = (
    "reading 'schema'",  # Notebook 7.6 throws this by itself
    "Failed to load resource",
)


class Notebook:
    """One page with one kernel; each test begins it anew.

    Attributes
    ----------
    page
        The browser's page.
    errors
        What went wrong in the page, by the console.
    """

    def __init__(self, application: Application, page: Page, name: str) -> None:
        self.application = application
        self.page = page
        self.errors: list[str] = []
        self._begun = 0
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(f"{error}\n{error.stack}"))
        page.goto(application.notebook(f"{name}.ipynb"))
        page.wait_for_function(READY, timeout=60_000)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    @property
    def own_errors(self) -> list[str]:
        """Those that are not known to be the application's."""
        return [error for error in self.errors if not any(known in error for known in NOT_OURS)]

    def begin(self, *sources: str) -> None:
        """New cells, a new namespace, a new store; the cells run, with `%timeline` after them."""
        self._begun += 1
        store = self.application.root / f"{Path(self.page.url).stem}-{self._begun}"
        first = f"%reset -f\nimport os\nos.environ['NBCKPT_STORE'] = {str(store)!r}"
        loading = "%unload_ext nbckpt\n%load_ext nbckpt" if self._begun > 1 else "%load_ext nbckpt"
        self.cells = [f"{first}\n{loading}", *sources, "%timeline", ""]
        self.page.evaluate(CELLS, self.cells)
        for index in range(len(self.cells) - 1):
            self.run(index)
        self.root.wait_for()

    def run(self, index: int, *, waits: bool = True) -> None:
        """Run a cell."""
        self.page.evaluate(RUN, [index, waits])

    def execute(self, source: str, *, waits: bool = True) -> Locator:
        """Run code in the last cell; the text of its output."""
        last = len(self.cells) - 1
        self.page.evaluate(
            "([index, source]) => window.jupyterapp.shell.currentWidget.content.model"
            ".sharedModel.cells[index].setSource(source)",
            [last, source],
        )
        self.run(last, waits=waits)
        return self.page.locator(".jp-Cell").nth(last).locator(".jp-OutputArea-output")

    def printed(self, expression: str) -> str:
        """What an expression is in the kernel."""
        return self.execute(f"print({expression})").first.inner_text().strip()

    def theme(self, name: str) -> None:
        """Change the application's colours: `Light` or `Dark`."""
        self.page.evaluate(THEME, f"JupyterLab {name}")
        is_light = str(name == "Light").lower()
        self.page.wait_for_selector(f"body[data-jp-theme-light={is_light}]", state="attached")

    # -- the timeline

    @property
    def root(self) -> Locator:
        """The timeline."""
        return self.page.locator(".nbckpt-Timeline-root").last

    def part(self, name: str) -> Locator:
        """A part of it."""
        return self.root.locator(f".nbckpt-Timeline-{name}")

    def row(self, name: str) -> Locator:
        """The newest checkpoint of a name."""
        return self.root.locator(f'.nbckpt-Timeline-row[data-name="{name}"]').first

    @property
    def here(self) -> Locator:
        """The row where the session stands."""
        return self.root.locator(".nbckpt-Timeline-row.nbckpt-is-position")

    def names(self) -> list[str]:
        """Those of all rows that are drawn, newest first."""
        rows: Any = self.part("row").evaluate_all(
            "rows => rows.sort((a, b) => a.getBoundingClientRect().top - "
            "b.getBoundingClientRect().top).map(row => row.dataset.name)"
        )
        return list(rows)
