"""What stands beside the cells of a notebook, in JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.applications import Application
from tests.browser.marked import Marked
from tests.browser.notebooks import Notebook

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

LOAD, TOTAL = 1, 2
CELLS = (
    "%%checkpoint load\ndf = [1, 2, 3]",
    "%%checkpoint total\ntotal = sum(df)\nprint(total)",
)
PLANTED = "<img src=x onerror='window.planted = 1'>"
CONTENT = "window.jupyterapp.shell.currentWidget.content"
MODEL = f"{CONTENT}.model"
SAVED = """async () => {
  const { context } = window.jupyterapp.shell.currentWidget;
  await context.save();
  const { content } = await window.jupyterapp.serviceManager.contents.get(context.path);
  return JSON.stringify(content);
}"""


@pytest.fixture
def marked(notebook: Notebook) -> Iterator[Marked]:
    notebook.load(*CELLS)
    marked = Marked(notebook)
    marked.expect(TOTAL, "checkpointed")
    yield marked
    marked.choose("cellMarks", "words")


def test_cells_say_what_became_of_them(notebook: Notebook, marked: Marked) -> None:
    assert marked.states() == ["", "checkpointed", "checkpointed", ""]

    notebook.run(LOAD)
    expect(marked.mark(LOAD)).to_have_text(re.compile(r"^restored in \d+ ms$"))
    marked.edit(LOAD, "%%checkpoint load\ndf = [1, 2, 4]")
    marked.expect(LOAD, "stale: edited since")
    notebook.run(LOAD)
    marked.expect(LOAD, "checkpointed")
    expect(marked.mark(TOTAL)).to_have_text(re.compile("^stale: .*df.* changed"))
    assert marked.states()[LOAD : TOTAL + 1] == ["checkpointed", "stale"]


def test_a_cell_that_runs_and_one_that_failed_say_so(notebook: Notebook, marked: Marked) -> None:
    marked.edit(TOTAL, "%%checkpoint total\nimport time\ntime.sleep(1.5)\nraise ValueError('none')")

    notebook.run(TOTAL, waits=False)

    marked.expect(TOTAL, "running")
    marked.expect(TOTAL, "failed: ValueError: none")
    marked.edit(TOTAL, CELLS[1])
    marked.expect(TOTAL, "stale: edited since it failed")


def test_a_mark_leads_to_its_checkpoint_by_mouse_and_by_keys(
    notebook: Notebook, marked: Marked
) -> None:
    marked.mark(LOAD).click()
    row = notebook.sidebar.row("load")
    expect(row).to_have_attribute("aria-selected", "true")

    marked.mark(TOTAL).focus()
    notebook.page.keyboard.press("Enter")

    expect(notebook.sidebar.row("total")).to_have_attribute("aria-selected", "true")
    assert not notebook.page.evaluate(f"{CONTENT}.mode === 'edit'")


def test_a_mark_is_told_without_colours_and_the_tab_key_stops_at_one(marked: Marked) -> None:
    mark = marked.mark(TOTAL)

    expect(mark).to_have_accessible_name("checkpointed. Show checkpoint total")
    expect(mark).to_have_attribute("title", re.compile("^checkpointed\nCheckpoint total, made "))
    shapes = [marked.mark(i).locator("path").get_attribute("d") for i in (LOAD, TOTAL)]
    marked.edit(TOTAL, "total = 0")
    marked.expect(TOTAL, "stale: edited since")
    assert marked.mark(TOTAL).locator("path").get_attribute("d") not in shapes
    stops = [marked.mark(i).get_attribute("tabindex") for i in (LOAD, TOTAL)]
    marked.page.evaluate(f"index => {{ {CONTENT}.activeCellIndex = index }}", LOAD)
    moved = [marked.mark(i).get_attribute("tabindex") for i in (LOAD, TOTAL)]
    assert (stops, moved) == (["-1", "0"], ["0", "-1"])


def test_nothing_is_written_into_the_notebook(notebook: Notebook, marked: Marked) -> None:
    before = notebook.page.evaluate(SAVED)

    notebook.sidebar.open()
    marked.choose("cellMarks", "off")
    marked.choose("cellMarks", "words")
    marked.expect(TOTAL, "checkpointed")

    assert "checkpointed" not in before
    assert not notebook.page.evaluate(f"{MODEL}.dirty")
    assert notebook.page.evaluate(SAVED) == before


def test_icons_alone_take_no_room_and_off_is_off(marked: Marked) -> None:
    marked.choose("cellMarks", "off")
    expect(marked.mark(LOAD)).to_have_count(0)
    assert set(marked.states()) == {""}
    plain = marked.cell(LOAD).bounding_box()

    marked.choose("cellMarks", "icons")

    expect(marked.mark(LOAD).locator("svg")).to_be_visible()
    assert marked.cell(LOAD).bounding_box() == plain
    expect(marked.mark(LOAD)).to_have_accessible_name("checkpointed. Show checkpoint load")


def test_a_cell_that_is_moved_or_copied(notebook: Notebook, marked: Marked) -> None:
    cells = f"{MODEL}.sharedModel"
    notebook.page.evaluate(f"{cells}.moveCell({TOTAL}, 0)")
    expect(marked.mark(0)).to_have_attribute("data-state", re.compile("checkpointed|stale"))

    # A copy is another cell: it has not run.
    copied = f"void {cells}.insertCell(1, {{ cell_type: 'code', source: {cells}.cells[0].source }})"
    notebook.page.evaluate(copied)

    notebook.run(3)
    assert marked.states()[1] == ""


def test_a_cell_that_was_pasted_with_a_new_id_is_marked_and_restored_there(
    notebook: Notebook, marked: Marked
) -> None:
    cells = f"{MODEL}.sharedModel"
    pasted = f"{{ cell_type: 'code', source: {cells}.cells[{LOAD}].source }}"
    notebook.page.evaluate(f"{cells}.insertCell({TOTAL + 1}, {pasted}); {cells}.deleteCell({LOAD})")

    marked.expect(TOTAL, "checkpointed")
    assert marked.states() == ["", "checkpointed", "checkpointed", ""]
    notebook.run(TOTAL)
    expect(marked.mark(TOTAL)).to_have_text(re.compile(r"^restored in \d+ ms$"))
    marked.mark(TOTAL).click()
    expect(notebook.sidebar.row("load")).to_have_attribute("aria-selected", "true")

    # At once: the kernel is told of the cells with the one that runs.
    pasted = f"{{ cell_type: 'code', source: {cells}.cells[{TOTAL}].source + '  # once more' }}"
    notebook.page.evaluate(
        f"{cells}.insertCell({TOTAL + 1}, {pasted}); {cells}.deleteCell({TOTAL})"
    )
    notebook.run(TOTAL)
    expect(marked.mark(TOTAL)).to_have_text(re.compile(r"^restored in \d+ ms$"))


def test_marks_where_cells_are_made_as_they_are_seen(notebook: Notebook, marked: Marked) -> None:
    run_and_look_at_many(notebook, 80)


def test_marks_where_of_300_cells_those_far_away_leave_the_page(
    application: Application, context: BrowserContext
) -> None:
    application.settings("@jupyterlab/notebook-extension:tracker", windowingMode="full")
    page = context.new_page()
    notebook = Notebook(application, page, "many")
    application.settings("@jupyterlab/notebook-extension:tracker")
    notebook.load()

    run_and_look_at_many(notebook, 300)
    # What was scrolled past leaves the page when that has settled.
    page.wait_for_function("document.querySelectorAll('.jp-Notebook .jp-CellHeader').length < 100")
    # Its marks are drawn all the same: it comes back as it left.
    marked = Marked(notebook)
    notebook.page.evaluate(f"{CONTENT}.activeCellIndex = 0; {CONTENT}.scrollToItem(0)")
    expect(marked.mark(150)).not_to_be_attached()
    marked.edit(150, "%%checkpoint middle\nm = 2")
    page.wait_for_function(f"{CONTENT}.widgets[150].node.dataset.nbckpt === 'stale'")
    page.wait_for_timeout(700)  # nothing is still to be drawn
    notebook.page.evaluate(f"{CONTENT}.scrollToItem(150)")
    marked.expect(150, "stale: edited since")
    page.close()

    assert notebook.own_errors == []


def run_and_look_at_many(notebook: Notebook, count: int) -> None:
    marked = Marked(notebook)
    middle, last = count // 2, count - 1
    cells = [f"x{i} = {i}" for i in range(count)]
    cells[middle], cells[last] = "%%checkpoint middle\nm = 1", "%%checkpoint last\nn = 1"
    notebook.fill(*cells)
    for index in (last, middle):
        notebook.run(index)
    for index in (middle, last, middle):
        notebook.page.evaluate(f"{CONTENT}.scrollToItem(0)")
        expect(marked.cell(0)).to_be_visible()
        notebook.page.evaluate(f"{CONTENT}.scrollToItem({index})")
        marked.expect(index, "checkpointed")
    assert [i for i, state in enumerate(marked.states()) if state] == [middle, last]


def test_errors_and_names_run_no_script(notebook: Notebook, marked: Marked) -> None:
    notebook.page.evaluate("window.planted = 0")
    marked.edit(TOTAL, f'%%checkpoint total\nraise ValueError("{PLANTED}")')

    notebook.run(TOTAL)

    marked.expect(TOTAL, f"failed: ValueError: {PLANTED}")
    marked.mark(TOTAL).hover()
    assert marked.mark(TOTAL).locator("img").count() == 0
    assert notebook.page.evaluate("window.planted") == 0


def test_pictures_of_all_states_in_both_themes(
    notebook: Notebook, marked: Marked, pictures: Callable[[str], Path]
) -> None:
    more = ("%%checkpoint mean\nmean = total / len(df)", "%%checkpoint bad\nraise ValueError('x')")
    notebook.load(*CELLS, *more)
    marked.expect(4, "failed: ValueError: x")
    notebook.run(TOTAL)
    marked.edit(3, "%%checkpoint mean\nmean = 0")
    marked.expect(3, "stale: edited since")
    notebook.execute("import time; time.sleep(4)", waits=False)
    for theme in ("Dark", "Light"):
        notebook.theme(theme)
        for shown in ("icons", "words"):
            marked.choose("cellMarks", shown)
            expect(marked.mark(3)).to_be_visible()
            notebook.page.screenshot(path=pictures(f"marks-{shown}-{theme}"))
