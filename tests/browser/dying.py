"""A notebook whose kernel dies, in a folder of its own; what its cells did is counted in a file."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count

from playwright.sync_api import BrowserContext, Locator, Page

from tests.browser.applications import Application
from tests.browser.marked import Marked
from tests.browser.notebooks import READY, Notebook

NUMBERS = count(1)
LOG = "open('did', 'a').write('{} ')"
CELLS = (
    "%load_ext nbckpt\nimport os, time\nopen('pid', 'w').write(str(os.getpid())) and None",
    f"%%checkpoint load\n{LOG.format('load')}\ndocs = list(range(6))\nvectors = []",
    "import nbckpt\nwith nbckpt.checkpoint('embed', vars=['vectors']) as step:\n"
    "    for doc in step.track(docs):\n"
    "        open('did', 'a').write(f'{doc} ')\n"
    "        time.sleep(float(open(os.getcwd() + '-pace').read()))\n"  # of no cell's files
    "        vectors.append(doc * 2)",
    f"%%checkpoint train\n{LOG.format('train')}\nmodel = sum(vectors)",
    "print('model', model)",
)
# JupyterLab says so of each of ipywidgets' messages that a killed kernel has not answered.
KILLED = "Canceled future for create_subshell_request"
RUN_ALL = "() => void window.jupyterapp.commands.execute('notebook:run-all-cells')"


def offer(page: Page) -> Locator:
    """The notification that offers to resume."""
    return page.locator(".Toastify__toast").filter(has_text="has a new kernel")


def told(page: Page) -> Locator:
    """The notification of what was done."""
    return page.locator(".Toastify__toast").filter(has_text="work.ipynb:")


def click(page: Page, label: str) -> None:
    """Click a button of the offer."""
    offer(page).get_by_role("button", name=label, exact=True).click()


class Dying(Notebook):
    """A notebook of `CELLS`, or of others, open in a page of its own."""

    def __init__(
        self, application: Application, context: BrowserContext, cells: Sequence[str] = CELLS
    ) -> None:
        self.folder = application.root / f"dying-{next(NUMBERS)}"
        self.folder.mkdir()
        self.pace(0)
        super().__init__(application, context.new_page(), f"{self.folder.name}/work")
        self.fill(*cells)

    def window(self) -> Page:
        """Another window with the same notebook."""
        self.save()
        other = self.page.context.new_page()
        other.goto(self.page.url)
        other.wait_for_function(READY, timeout=60_000)
        return other

    def save(self) -> None:
        """Save the notebook."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")

    def edit(self, index: int, source: str) -> None:
        """Give a cell another text, as typing does."""
        Marked(self).edit(index, source)

    def pace(self, seconds: float) -> None:
        """How long the loop takes for an item, from now on."""
        self.folder.with_name(f"{self.folder.name}-pace").write_text(str(seconds))

    def did(self) -> Counter[str]:
        """How often each part of the cells was done."""
        path = self.folder / "did"
        return Counter(path.read_text().split() if path.exists() else [])

    def run_all(self) -> None:
        """Begin to run all cells."""
        self.page.evaluate(RUN_ALL)

    def run_to_the_end(self) -> None:
        """Run all cells, and have the page know what it needs to offer a resume."""
        self.run_all()
        self.last.get_by_text("model 30").wait_for()
        # The kernel is asked what a resume would bring once its checkpoints have settled.
        self.page.wait_for_timeout(1200)

    def kill(self) -> None:
        """Kill the kernel as the machine would that is out of memory."""
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)

    def wait(self, is_so: Callable[[], bool], timeout_s: float = 30) -> None:
        """Wait until something outside of the page is so."""
        deadline = time.monotonic() + timeout_s
        while not is_so():
            assert time.monotonic() < deadline, f"waited for {timeout_s} s"
            self.page.wait_for_timeout(50)

    @property
    def last(self) -> Locator:
        """What the last cell shows."""
        return (
            self.page.locator(".jp-Cell").nth(len(self.cells) - 1).locator(".jp-OutputArea-output")
        )

    @property
    def offer(self) -> Locator:
        """The notification that offers to resume."""
        return offer(self.page)

    def restart(self) -> None:
        """Restart the kernel, as from the menu."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
        )

    def shut_down(self) -> None:
        """End the kernel, as from the list of those that run."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")

    @property
    def dialog(self) -> Locator:
        """The dialog that is open."""
        return self.page.locator(".jp-Dialog")

    def close(self) -> None:
        """Close the page; no test may have left an error in its console."""
        self.page.close()
        errors = [error for error in self.own_errors if KILLED not in error]
        assert errors == [], errors
