"""Two notebooks of a folder in one store: each sees its own steps, and moves to its own unasked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.notebooks import Notebook
from tests.browser.sidebars import Sidebar
from tests.browser.test_sidebar_notebooks import ACTIVATE, CLOSE, FIRST

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

SECOND = "second.ipynb"


@pytest.fixture
def two(notebook: Notebook, variables_only: None) -> Iterator[Notebook]:
    """A new notebook with one checkpoint, beside one that has two in the same store."""
    notebook.sidebar.open()
    notebook.load("%%checkpoint one\nx = 1", "%%checkpoint two\nx = 2")
    notebook.open("second")
    expect(notebook.sidebar.title).to_have_text(SECOND)
    notebook.load("%%checkpoint mine\nx = 'mine'", is_shared=True)
    expect(notebook.sidebar.row("mine")).to_be_visible()
    yield notebook
    others = notebook.sidebar.root.get_by_label("all notebooks")
    if others.is_visible():
        others.uncheck()
    notebook.page.evaluate(CLOSE, FIRST)
    notebook.page.evaluate(ACTIVATE, FIRST)


def test_a_notebook_lists_its_own_and_all_by_a_switch(two: Notebook) -> None:
    sidebar = two.sidebar
    assert sidebar.names() == ["mine"]
    expect(sidebar.part("count")).to_have_text("1 checkpoint")

    sidebar.root.get_by_label("all notebooks").check()

    assert set(sidebar.names()) == {"mine", "two", "one"}
    named = ".nbckpt-Timeline-label.nbckpt-is-other"
    expect(sidebar.row("two").locator(named)).to_have_text("history")
    expect(sidebar.row("mine").locator(named)).to_have_count(0)
    sidebar.root.get_by_label("all notebooks").uncheck()
    assert sidebar.names() == ["mine"]


def test_a_notebook_without_checkpoints_says_so_and_offers_the_others(two: Notebook) -> None:
    sidebar = two.sidebar
    two.open("third")
    two.load("x = 0", is_shared=True)

    expect(sidebar.part("empty")).to_contain_text("Nothing is checkpointed yet")
    sidebar.part("listOthers").click()

    assert set(sidebar.names()) == {"mine", "two", "one"}


def test_keys_begin_where_the_notebook_stands(two: Notebook) -> None:
    """Ctrl+Alt+J, arrow, Enter, Enter had rewound into the other notebook."""
    sidebar = two.sidebar
    two.execute("%%checkpoint later\nx = 'later'")
    expect(sidebar.row("later")).to_be_visible()
    sidebar.root.get_by_label("all notebooks").check()

    two.page.keyboard.press("Control+Alt+J")
    expect(sidebar.root.locator(".nbckpt-is-active")).to_have_attribute("data-name", "later")
    two.page.keyboard.press("ArrowDown")
    expect(sidebar.root.locator(".nbckpt-is-active")).to_have_attribute("data-name", "mine")
    two.page.keyboard.press("Enter")
    two.page.keyboard.press("Enter")

    expect(sidebar.here).to_have_attribute("data-name", "mine")
    assert value(two) == "mine"
    sidebar.part("list").focus()
    two.page.keyboard.press("Control+Alt+U")
    expect(sidebar.here).to_have_attribute("data-name", "later")


@pytest.mark.parametrize("verb", ["rewind", "fork", "rerun"])
def test_a_move_to_anothers_asks_by_name(two: Notebook, verb: str) -> None:
    sidebar = two.sidebar
    sidebar.root.get_by_label("all notebooks").check()
    sidebar.row("one").click()
    sidebar.verb(verb).click()

    form = sidebar.root.locator("form.nbckpt-of-other")
    expect(form).to_contain_text("one is a checkpoint of the notebook history")
    form.get_by_role("button", name="Cancel").click()
    expect(form).to_have_count(0)
    assert value(two) == "mine"

    if verb == "rewind":
        agreed(sidebar, verb)
        expect(sidebar.here).to_have_attribute("data-name", "one")
        assert value(two) == "1"


def value(notebook: Notebook) -> str:
    """What `x` is in the notebook that is seen."""
    notebook.execute("print(x)")
    seen = notebook.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    return seen.locator(".jp-OutputArea-output").last.inner_text().strip()


def agreed(sidebar: Sidebar, verb: str) -> None:
    sidebar.verb(verb).click()
    sidebar.root.locator("form.nbckpt-of-other").get_by_role("button", name="Go there").click()
