"""Going back to look at something, and what that leaves in the panel."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebooks import Notebook


def test_looks_back_leave_one_row_and_no_branch(notebook: Notebook, variables_only: None) -> None:
    sidebar = notebook.sidebar
    sidebar.open()
    notebook.load(
        "%%checkpoint load\nx = 1\nimport pandas as pd\nframe = pd.DataFrame({'x': range(50)})",
        "%%checkpoint clean\nx = 2\nsums = (frame * 2).sum()",
        "%%checkpoint fit\nx = 3",
        "x = 'unsaved'",
    )
    for name in ("load", "clean", "load", "fit", "clean"):
        sidebar.row(name).click()
        sidebar.part("rewind").click()
        expect(sidebar.here).to_have_attribute("data-name", name)

    assert sidebar.names() == ["before-rewind", "fit", "clean", "load"]
    assert (
        notebook.printed("__import__('nbckpt').sql('select name from branches').fetchall()")
        == "[('main',)]"
    )
    sidebar.row("before-rewind").click()
    sidebar.part("rewind").click()
    expect(sidebar.here).to_have_attribute("data-name", "before-rewind")
    assert notebook.printed("x") == "unsaved"

    sidebar.row("clean").click()
    sidebar.part("rewind").click()
    expect(sidebar.here).to_have_attribute("data-name", "clean")
    notebook.execute("%%checkpoint other\ny = x")

    expect(sidebar.row("other")).to_be_visible()
    expect(sidebar.here).to_have_attribute("data-name", "other")
    expect(notebook.page.locator(".jp-OutputArea-output").last).to_contain_text(
        "'main' goes on from 'clean'; what was kept after that is on 'main.1'"
    )
