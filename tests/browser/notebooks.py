"""A notebook that is open in a browser, and the timeline in it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from tests.browser.applications import Application
from tests.browser.parts import Parts
from tests.browser.sidebars import Sidebar

READY = """path => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  const isAsked = !path || panel?.context?.path === path;
  return isAsked && panel?.sessionContext?.session?.kernel?.status === 'idle';
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
OPEN = """path => window.jupyterapp.commands
  .execute('docmanager:open', { path }).then(() => undefined)"""
RESTORED = """async () => {
  await window.jupyterapp.restored;
  await window.jupyterapp.shell.currentWidget?.sessionContext?.ready;
}"""
THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"

UNLISTED = "Directory not found: "
"""What JupyterLab's list of files says, in a dialog, where the server does not get to list them."""

NOT_OURS = (
    "reading 'schema'",  # Notebook 7.6 throws this by itself
    "Failed to load resource",
    "Comm not found for comm id",  # widgets' in another window, or an answer to who has gone
    "Canceled future for create_subshell_request",  # JupyterLab's, where a kernel dies meanwhile
    "Canceled future for debug_request",  # of its debugger, where a kernel is restarted
    "Canceled future for comm_msg",  # the same, of what was sent before the subshell had begun
    UNLISTED,
)


class Notebook(Parts):
    """One page with one kernel, and the timeline in it; each test begins it anew.

    Attributes
    ----------
    page
        The browser's page.
    errors
        What went wrong in the page, by the console.
    cells
        The sources of its cells.
    sidebar
        The side panel beside it.
    """

    cells: list[str]

    def __init__(self, application: Application, page: Page, name: str) -> None:
        self.application = application
        self.page = page
        self.errors: list[str] = []
        self.sidebar = Sidebar(page)
        self._begun = 0
        self._store = application.root
        dialog = page.locator(".jp-Dialog", has_text=UNLISTED)
        page.add_locator_handler(dialog, lambda found: found.locator(".jp-mod-reject").click())
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(f"{error}\n{error.stack}"))
        self._address = application.notebook(f"{name}.ipynb")
        self.load_page()

    def load_page(self) -> None:
        """Load the page as it is at first, with this notebook alone, and its kernel at rest."""
        self.page.goto(self._address)
        self.page.wait_for_function(READY, timeout=60_000)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    @property
    def own_errors(self) -> list[str]:
        """Those that are not known to be the application's."""
        return [
            error
            for error in self.errors
            if "/nbckpt/" in error or not any(known in error for known in NOT_OURS)
        ]

    def open(self, name: str) -> None:
        """Open another notebook in the same page; it is the one that is driven from now on."""
        if not (self.application.root / f"{name}.ipynb").exists():
            self.application.notebook(f"{name}.ipynb")
        # A page that was loaded anew goes back to the notebook of then as soon as its kernel is there.
        self.page.evaluate(RESTORED)
        self.page.evaluate(OPEN, f"{name}.ipynb")
        self.page.wait_for_function(READY, arg=f"{name}.ipynb", timeout=60_000)

    def begin(self, *sources: str) -> None:
        """New cells, a new namespace, a new store; the cells run, with `%timeline` after them."""
        self.load(*sources, "%timeline")
        self.root.wait_for()

    def load(self, *sources: str, is_shared: bool = False) -> None:
        """New cells, a new namespace, a new store, or that of the last `load`; the cells run."""
        self._begun += not is_shared
        if not is_shared:
            self._store = self.application.root / f"{Path(self.page.url).stem}-{self._begun}"
        store = self._store
        first = f"%reset -f\nimport os\nos.environ['NBCKPT_STORE'] = {str(store)!r}"
        loading = "%unload_ext nbckpt\n%load_ext nbckpt" if self._begun > 1 else "%load_ext nbckpt"
        self.fill(f"{first}\n{loading}", *sources, "")
        for index in range(len(self.cells) - 1):
            self.run(index)

    def fill(self, *sources: str) -> None:
        """Put other cells in place of all that are there."""
        self.cells = list(sources)
        self.page.evaluate(CELLS, self.cells)

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

    def close_dialogs(self) -> None:
        """Take back whatever is asked."""
        dialogs = self.page.locator("dialog.jp-Dialog")
        while n_open := dialogs.count():
            self.page.keyboard.press("Escape")
            expect(dialogs).to_have_count(n_open - 1)

    def theme(self, name: str) -> None:
        """Change the application's colours: `Light` or `Dark`."""
        self.page.evaluate(THEME, f"JupyterLab {name}")
        is_light = str(name == "Light").lower()
        self.page.wait_for_selector(f"body[data-jp-theme-light={is_light}]", state="attached")
        # JupyterLab takes its splash away twice where the next change comes before the first is gone.
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    # -- the timeline

    @property
    def root(self) -> Locator:
        """The timeline."""
        return self.page.locator(".nbckpt-Timeline-root").last
