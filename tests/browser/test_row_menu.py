"""A checkpoint's menu: by the pointer, by its key and by the button, in either application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.notebooks import Notebook
from tests.browser.sidebars import Sidebar


@pytest.fixture
def sidebar(notebook: Notebook, variables_only: None) -> Iterator[Sidebar]:
    notebook.sidebar.open()
    notebook.load(
        "%%checkpoint load\nimport pandas as pd\ndf = pd.DataFrame({'x': range(5000)})",
        "%%checkpoint train\nmodel = 1",
    )
    expect(notebook.sidebar.row("train")).to_be_visible()
    yield notebook.sidebar
    notebook.page.keyboard.press("Escape")


def menu(sidebar: Sidebar) -> Locator:
    return sidebar.root.get_by_role("menu")


def test_a_row_has_a_menu_of_all_that_can_be_done_with_it(
    notebook: Notebook, sidebar: Sidebar, pictures: Callable[[str], Path]
) -> None:
    sidebar.row("load").click(button="right")

    expect(menu(sidebar)).to_be_visible()
    texts = menu(sidebar).get_by_role("menuitem").all_inner_texts()
    named = [text.split("\n")[0] for text in texts]
    assert named == ["Rewind", "Fork…", "Compare…", "Rerun from here", "Tag", "Note"]
    notebook.page.screenshot(path=pictures("row-menu"))
    notebook.page.keyboard.press("Enter")

    expect(sidebar.here).to_have_attribute("data-name", "load")
    expect(menu(sidebar)).to_have_count(0)


def test_keys_open_walk_and_leave_it(notebook: Notebook, sidebar: Sidebar) -> None:
    keyboard = notebook.page.keyboard
    sidebar.row("load").click()
    sidebar.part("list").focus()
    keyboard.press("Shift+F10")
    expect(menu(sidebar).get_by_role("menuitem", name="Rewind")).to_be_focused()
    keyboard.press("ArrowUp")
    expect(menu(sidebar).get_by_role("menuitem", name="Note")).to_be_focused()
    keyboard.press("Escape")

    expect(menu(sidebar)).to_have_count(0)
    expect(sidebar.part("list")).to_be_focused()


def test_what_stands_as_a_button_is_what_is_likely(notebook: Notebook, sidebar: Sidebar) -> None:
    def buttons() -> list[str]:
        return sidebar.part("buttons").get_by_role("button").all_inner_texts()

    sidebar.row("load").click()
    assert buttons() == ["Rewind", "Fork…", "Compare…", "…"]
    sidebar.row("train").click()
    assert buttons() == ["Rerun from here", "Fork…", "Compare…", "…"]
    sidebar.root.get_by_role("button", name="More actions").click()
    sidebar.root.get_by_role("menuitem", name="Tag").click()
    expect(sidebar.root.get_by_role("form", name="Tag train")).to_be_visible()


def test_a_narrow_panel_shows_names_and_details(
    notebook: Notebook, sidebar: Sidebar, pictures: Callable[[str], Path]
) -> None:
    sidebar.row("load").click()
    name = sidebar.part("body").locator(".nbckpt-of-variables .nbckpt-Timeline-variable").first
    expect(name).to_have_text("df")
    widths = name.evaluate("each => [each.scrollWidth, each.clientWidth]")
    assert 0 < widths[0] <= widths[1]
    page = notebook.page
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": size["width"], "height": size["height"] // 2})
    try:
        box = sidebar.part("pane").bounding_box()
        page.screenshot(path=pictures("panel-low"))
        assert box is not None
        assert box["height"] >= 150
    finally:
        page.set_viewport_size(size)
