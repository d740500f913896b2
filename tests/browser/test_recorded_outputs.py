"""What a cell's checkpoint keeps of its outputs while the page asks for comms that are not there."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.applications import lab_first
from tests.browser.notebooks import Notebook

# As a page's widgets do of which a new kernel knows nothing; on a subshell, beside the cell.
STRAY = """async () => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  kernel.createComm('of-nobody').send({});
  kernel.createComm('of-nobody').open();
}"""
LOGGED = "import logging\nlogging.basicConfig()"


@pytest.mark.parametrize("setup", ["", LOGGED], ids=["unlogged", "logged"])
@lab_first
def test_a_comm_that_no_kernel_knows_is_no_output_of_the_cell(
    notebook: Notebook, setup: str
) -> None:
    notebook.load(setup)
    shown = notebook.execute(
        "%%checkpoint busy\nimport time\nprint('begun')\ntime.sleep(2)\nprint('done')", waits=False
    )
    expect(shown.first).to_have_text("begun")

    notebook.page.evaluate(STRAY)

    expect(shown.first).to_contain_text("done")
    notebook.sidebar.open()
    notebook.sidebar.row("busy").click()
    expect(notebook.sidebar.part("outputs").locator("pre")).to_have_text("begun\ndone\n")
