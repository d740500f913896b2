"""The strip under a notebook: along it the cells show as they were, and nothing is touched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.notebooks import Notebook

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

SCRUB = "() => { void window.jupyterapp.commands.execute('nbckpt:scrub'); }"
SOURCES = """() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells
  .map(cell => [cell.getSource(), cell.toJSON().outputs])"""
CELLS = (
    "%%checkpoint load\nk = 1\nprint('k is', k)",
    "%%checkpoint square\nprint('square', k ** 2)",
    "%%checkpoint last\nprint('the last')",
)


@pytest.fixture
def strip(notebook: Notebook, variables_only: None) -> Iterator[Locator]:
    """Opened in a notebook whose second cell was edited and run again."""
    notebook.sidebar.open()
    notebook.load(*CELLS)
    notebook.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells[2]"
        ".setSource(\"%%checkpoint square\\nprint('cube', k ** 3)\")"
    )
    notebook.run(2)
    notebook.page.evaluate(SCRUB)
    strip = notebook.page.locator(".nbckpt-Scrubber")
    expect(strip).to_be_visible()
    yield strip
    if strip.count():
        strip.get_by_role("button", name="Close").click()


def cell(notebook: Notebook, index: int) -> Locator:
    return notebook.page.locator(".jp-Cell").nth(index)


def test_cells_show_as_they_were_and_are_not_touched(
    notebook: Notebook, strip: Locator, pictures: Callable[[str], Path]
) -> None:
    before = notebook.page.evaluate(SOURCES)
    slider = strip.get_by_role("slider")
    expect(slider).to_be_focused()
    expect(strip.locator(".nbckpt-Timeline-scrubSegment")).to_have_count(4)

    notebook.page.keyboard.press("Home")
    expect(strip.get_by_role("status")).to_contain_text("load")
    expect(cell(notebook, 2)).to_have_class(re.compile("nbckpt-is-later"))
    notebook.page.keyboard.press("ArrowRight")

    ghost = cell(notebook, 2).locator(".nbckpt-Timeline-ghost")
    expect(ghost).to_contain_text("print('square', k ** 2)")
    expect(ghost).to_contain_text("square 1")
    expect(cell(notebook, 3)).to_have_class(re.compile("nbckpt-is-later"))
    notebook.page.screenshot(path=pictures("scrubber"))
    assert notebook.page.evaluate(SOURCES) == before
    notebook.page.keyboard.press("Escape")

    expect(strip).to_have_count(0)
    expect(notebook.page.locator(".nbckpt-Timeline-ghost, .nbckpt-is-later")).to_have_count(0)
    assert notebook.page.evaluate(SOURCES) == before
    expect(notebook.sidebar.here).to_have_attribute("data-name", "square")


def test_it_is_dragged_and_rewound_to(notebook: Notebook, strip: Locator) -> None:
    box = strip.locator(".nbckpt-Timeline-scrubStrip").bounding_box()
    assert box is not None
    mouse, y = notebook.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + box["width"] - 2, y)
    mouse.down()
    mouse.move(box["x"] + 2, y, steps=5)
    mouse.up()
    expect(strip.get_by_role("status")).to_contain_text("load")

    strip.get_by_role("button", name="Rewind here").click()

    expect(notebook.sidebar.here).to_have_attribute("data-name", "load")
    expect(strip).to_have_count(0)


def test_it_opens_free_of_what_was_told(notebook: Notebook, strip: Locator) -> None:
    told = notebook.page.locator(".Toastify__toast")
    notebook.page.keyboard.press("Home")
    strip.get_by_role("button", name="Rewind here").click()
    expect(told).to_have_count(1)
    told.hover()  # there it stays, over what the strip will show

    notebook.page.evaluate(SCRUB)
    strip.get_by_role("button", name="Close").click(timeout=3000)

    expect(told).to_have_count(0)


def test_a_fork_begins_there(notebook: Notebook, strip: Locator) -> None:
    notebook.page.keyboard.press("Home")
    expect(strip.get_by_role("status")).to_contain_text("load")

    strip.get_by_role("button", name="Fork here").click()

    expect(notebook.sidebar.root.get_by_role("form")).to_contain_text("New branch at load")
    notebook.page.keyboard.press("Escape")


def test_opened_before_the_history_is_known_it_shows_the_newest(
    notebook: Notebook, strip: Locator
) -> None:
    strip.get_by_role("button", name="Close").click()
    notebook.page.reload()
    notebook.page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.content?.model")
    notebook.page.evaluate(SCRUB)

    expect(strip.get_by_role("status")).to_contain_text("square")
    strip.get_by_role("slider").press("Home")
    expect(strip.get_by_role("status")).to_contain_text("load")
