"""Marks, rewound pages and reruns in Notebook 7; the details are tried in JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.marked import Marked
from tests.browser.notebooks import Notebook

pytestmark = pytest.mark.parametrize("application", ["notebook"], indirect=True)

LOAD, TOTAL = 1, 2
EDITED = "%%checkpoint load\ndf = [10, 20]"


def test_marks_a_rewound_page_and_a_rerun(notebook: Notebook) -> None:
    notebook.load("%%checkpoint load\ndf = [1, 2]", "%%checkpoint total\nprint(sum(df))")
    marked = Marked(notebook)
    marked.choose("rewindPage", "always")
    marked.expect(TOTAL, "checkpointed")
    marked.edit(LOAD, EDITED)
    marked.expect(LOAD, "stale: edited since")
    notebook.run(LOAD)
    marked.expect(LOAD, "checkpointed")  # the new one, no more the one before
    marked.mark(LOAD).click()
    sidebar = notebook.sidebar

    sidebar.verb("rerun").click()
    notebook.page.locator(".jp-Dialog").get_by_role("button", name="Rerun", exact=True).click()
    expect(sidebar.part("notice")).to_contain_text("rerun from load: 1 run")
    assert marked.outputs(TOTAL).endswith("30")

    sidebar.root.locator('.nbckpt-Timeline-row[data-name="total"]').last.click()
    sidebar.verb("rewind").click()
    expect(sidebar.part("notice")).to_contain_text("2 cells went back, too")

    assert (marked.source(LOAD), marked.outputs(TOTAL)) == ("%%checkpoint load\ndf = [1, 2]", "3")
    marked.choose("rewindPage", "ask")
