"""A rewind that takes the notebook's page along, in JupyterLab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.marked import MODEL, Marked
from tests.browser.notebooks import Notebook

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

LOAD, TOTAL = 1, 2
CELLS = (
    "%%checkpoint load\ndf = [1, 2, 3]\nprint('first', df)",
    "%%checkpoint total\nprint('total', sum(df))",
)
EDITED = "%%checkpoint load\ndf = [10, 20]\nprint('second', df)"
SAVED_TRUST = """async index => {
  const { context } = window.jupyterapp.shell.currentWidget;
  await context.save();
  const { content } = await window.jupyterapp.serviceManager.contents.get(context.path);
  return content.cells[index].metadata.trusted;
}"""
PLANTED = "<img src=x onerror='window.planted = (window.planted ?? 0) + 1'>"


class Rewound(Marked):
    """A notebook whose `load` was run twice, and then rewound to the first time."""

    def rewind(self, name: str) -> None:
        """Click *Rewind* at the oldest checkpoint of a name."""
        rows = self._notebook.sidebar.root.locator(f'.nbckpt-Timeline-row[data-name="{name}"]')
        rows.last.click()
        self._notebook.sidebar.verb("rewind").click()

    @property
    def dialog(self) -> Locator:
        """What is asked."""
        return self.page.locator(".jp-Dialog")

    def answer(self, text: str) -> None:
        """Press a button of the dialog."""
        self.dialog.get_by_role("button", name=text).click()
        expect(self.dialog).to_have_count(0)

    @property
    def told(self) -> Locator:
        """What the panel says came of it."""
        return self._notebook.sidebar.part("notice")

    def page_now(self) -> tuple[str, str, str]:
        """Text and output of `load`, and output of `total`."""
        load, total = (self.outputs(index).split("\n")[-1] for index in (LOAD, TOTAL))
        return self.source(LOAD), load, total


LATE = (EDITED, "second [10, 20]", "total 30")
EARLY = (CELLS[0], "first [1, 2, 3]", "")


@pytest.fixture
def rewound(notebook: Notebook) -> Iterator[Rewound]:
    notebook.load(CELLS[0], "")
    rewound = Rewound(notebook)
    rewound.choose("rewindPage", "ask")
    rewound.edit(LOAD, EDITED)
    rewound.edit(TOTAL, CELLS[1])
    for index in (LOAD, TOTAL):
        notebook.run(index)
    rewound.expect(TOTAL, "checkpointed")
    notebook.sidebar.open()
    assert rewound.page_now() == LATE
    yield rewound
    rewound.choose("rewindPage", "ask")


def test_cells_go_back_with_their_outputs_and_come_again(
    notebook: Notebook, rewound: Rewound, pictures: Callable[[str], Path]
) -> None:
    rewound.rewind("load")
    expect(rewound.dialog).to_contain_text("2 cells show something else")
    notebook.page.screenshot(path=pictures("page-dialog"))
    rewound.answer("Variables and Cells")

    expect(rewound.told).to_contain_text("2 cells went back, too")
    assert rewound.page_now() == EARLY
    rewound.expect(LOAD, "checkpointed")
    notebook.page.screenshot(path=pictures("page-rewound"))

    rewound.told.get_by_role("button", name="Go back").click()
    expect(rewound.cell(TOTAL)).to_contain_text("total 30")
    assert rewound.page_now() == LATE
    assert notebook.printed("df") == "[10, 20]"


def test_ctrl_z_in_a_cell_takes_back_what_the_rewind_did_to_it(rewound: Rewound) -> None:
    rewound.rewind("load")
    rewound.answer("Variables and Cells")
    expect(rewound.told).to_contain_text("went back, too")

    for index in (LOAD, TOTAL):
        rewound.cell(index).locator(".cm-content").click()
        rewound.page.keyboard.press("Control+z")

    expect(rewound.cell(TOTAL)).to_contain_text("total 30")
    assert rewound.page_now() == LATE
    rewound.page.keyboard.press("Control+Shift+z")
    expect(rewound.cell(TOTAL)).not_to_contain_text("total 30")


def test_variables_only_and_cancel(notebook: Notebook, rewound: Rewound) -> None:
    rewound.rewind("load")
    rewound.answer("Cancel")
    assert notebook.printed("df") == "[10, 20]"

    rewound.rewind("load")
    rewound.answer("Variables Only")

    expect(rewound.told).to_contain_text("rewound to")
    assert rewound.page_now() == LATE
    assert notebook.printed("df") == "[1, 2, 3]"


def test_the_answer_is_remembered(notebook: Notebook, rewound: Rewound) -> None:
    rewound.rewind("load")
    rewound.dialog.get_by_text("Do not ask again").click()
    rewound.answer("Variables and Cells")
    expect(rewound.told).to_contain_text("went back, too")
    rewound.edit(TOTAL, "print('again', 1)")
    notebook.run(TOTAL)

    rewound.rewind("load")

    expect(rewound.cell(TOTAL)).not_to_contain_text("again 1")
    expect(rewound.dialog).to_have_count(0)


def test_cells_that_nbckpt_does_not_know_and_read_only_ones_stay(
    notebook: Notebook, rewound: Rewound
) -> None:
    outputs = "[{ output_type: 'stream', name: 'stdout', text: 'as opened' }]"
    opened = f"{{ cell_type: 'code', source: 'print(1)', outputs: {outputs} }}"
    notebook.page.evaluate(f"void {MODEL}.insertCell(3, {opened})")
    notebook.page.evaluate(f"{MODEL}.cells[{LOAD}].setMetadata('editable', false)")

    rewound.rewind("load")
    rewound.answer("Variables and Cells")

    expect(rewound.told).to_contain_text("1 cell stays as it is")
    assert rewound.page_now() == (EDITED, "second [10, 20]", "")
    assert rewound.outputs(3) == "as opened"


def test_a_rewind_that_changes_no_cell_does_not_ask(notebook: Notebook, rewound: Rewound) -> None:
    rewound.rewind("total")

    expect(rewound.told).to_contain_text("The cells are as they were then.")
    expect(rewound.dialog).to_have_count(0)


def test_outputs_from_the_store_run_no_script(notebook: Notebook, rewound: Rewound) -> None:
    rewound.edit(TOTAL, f'%%checkpoint total\nfrom IPython.display import HTML\nHTML("{PLANTED}ü")')
    notebook.run(TOTAL)  # the user's own: it acts
    notebook.page.wait_for_function("window.planted === 1")
    assert notebook.page.evaluate(SAVED_TRUST, TOTAL) is True
    rewound.edit(TOTAL, "%%checkpoint total\n1")
    notebook.run(TOTAL)
    rewound.expect(TOTAL, "checkpointed")
    rows = notebook.sidebar.root.locator('.nbckpt-Timeline-row[data-name="total"]')
    expect(rows).to_have_count(1)
    rows.locator("[data-group]", has_text="\N{MULTIPLICATION SIGN}3").click()
    expect(rows).to_have_count(3)

    rows.nth(1).click()
    notebook.sidebar.verb("rewind").click()
    rewound.answer("Variables and Cells")

    expect(rewound.cell(TOTAL).locator(".jp-RenderedHTMLCommon")).to_have_text("ü")
    expect(rewound.told).to_contain_text("Scripts in outputs do not run")
    notebook.page.wait_for_timeout(300)
    assert notebook.page.evaluate("window.planted") == 1
    # Nor when the file is opened again: the server has not signed it.
    assert notebook.page.evaluate(SAVED_TRUST, TOTAL) is False
