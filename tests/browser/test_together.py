"""Two windows on one notebook: each shows what became of its cells.

With jupyter-collaboration, where it is installed, they also edit one document.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.marked import Marked
from tests.browser.notebooks import READY, Notebook

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

LOAD, TOTAL = 1, 2
CELLS = ("%%checkpoint load\ndf = [1, 2, 3]\nprint('first')", "%%checkpoint total\ntotal = sum(df)")
SAVE = "() => window.jupyterapp.shell.currentWidget.context.save()"
IS_COLLABORATIVE = importlib.util.find_spec("jupyter_collaboration") is not None


class Window(Marked):
    """Another window on the notebook."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self.page = notebook.page.context.new_page()
        self.page.goto(notebook.page.url.replace("/lab/tree", "/lab/workspaces/other/tree"))
        self.page.wait_for_function(READY, timeout=60_000)


@pytest.fixture
def window(notebook: Notebook) -> Iterator[Window]:
    notebook.load(*CELLS)
    Marked(notebook).expect(TOTAL, "checkpointed")
    notebook.page.evaluate(SAVE)
    window = Window(notebook)
    yield window
    window.page.close()


def test_both_windows_show_what_runs_in_one(notebook: Notebook, window: Window) -> None:
    window.expect(TOTAL, "checkpointed")
    here = Marked(notebook)

    here.edit(LOAD, "%%checkpoint load\ndf = [1, 2]\nprint('second')")
    notebook.run(LOAD)

    for each in (here, window):
        expect(each.mark(TOTAL)).to_have_attribute("data-state", "stale")
    # Without collaboration the other window still has the text of before.
    window.expect(LOAD, "checkpointed" if IS_COLLABORATIVE else "stale: edited since")


@pytest.mark.skipif(not IS_COLLABORATIVE, reason="jupyter-collaboration is not installed")
def test_a_page_that_is_rewound_in_one_window_goes_back_in_the_other(
    notebook: Notebook, window: Window
) -> None:
    here = Marked(notebook)
    here.choose("rewindPage", "always")
    here.edit(LOAD, "%%checkpoint load\ndf = [1, 2]\nprint('second')")
    notebook.run(LOAD)
    expect(window.cell(LOAD)).to_contain_text("second")
    notebook.sidebar.open()

    notebook.sidebar.root.locator('.nbckpt-Timeline-row[data-name="load"]').last.click()
    notebook.sidebar.verb("rewind").click()

    expect(notebook.sidebar.part("notice")).to_contain_text("went back, too")
    expect(window.cell(LOAD).locator(".jp-OutputArea-output")).to_have_text(["first"])
    assert window.source(LOAD) == CELLS[0]
    window.expect(LOAD, "checkpointed")
    window.cell(LOAD).locator(".cm-content").click()
    window.page.keyboard.press("Control+z")
    assert window.source(LOAD) == CELLS[0]  # only who rewound can undo it
