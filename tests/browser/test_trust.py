"""A stranger's store in JupyterLab: shown, and nothing of it runs before *Trust* is clicked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from nbckpt.testing import Provider
from tests.browser.notebooks import Notebook
from tests.session.trust.making import make

NAMES = ["aside", "steps", "shown", "code", "plain"]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("stranger")
    with Provider() as provider:
        make(folder, provider)
    return folder


@pytest.mark.parametrize("application", ["lab"], indirect=True)
def test_a_strangers_store_rests_until_it_is_trusted(
    notebook: Notebook, theirs: Path, variables_only: None
) -> None:
    marks = theirs / "marks"
    loading = "%unload_ext nbckpt\n%load_ext nbckpt"
    notebook.load()  # a namespace of its own; then the store of somebody else
    store = f"import os\nos.environ['NBCKPT_STORE'] = {str(theirs / '.nbckpt')!r}\n"
    notebook.fill(store + loading, "%timeline", "")
    notebook.run(0)
    notebook.run(1)
    notebook.root.wait_for()
    sidebar = notebook.sidebar
    sidebar.open()
    expect(sidebar.part("strangers")).to_contain_text(
        "6 checkpoints here are not known to be yours"
    )
    expect(notebook.part("strangers").last).to_contain_text("not known to be yours")
    for name in NAMES:
        sidebar.row(name).click()
        expect(sidebar.part("details")).to_be_visible()
        expect(sidebar.row(name)).to_contain_text("not trusted")
    expect(sidebar.part("details")).to_contain_text("needs trust")
    sidebar.row("code").click()
    sidebar.verb("rewind").click()
    expect(sidebar.part("notice")).to_contain_text("'code' was made by another user")
    assert notebook.printed("{'text', 'built'} & globals().keys()") == "set()"
    assert notebook.page.evaluate("window.stolen") is None
    assert list(marks.iterdir()) == []

    sidebar.part("trust").click()
    dialog = sidebar.node.get_by_role("alertdialog")
    expect(dialog).to_contain_text("twice")
    assert list(marks.iterdir()) == []
    dialog.get_by_role("button", name="Trust").click()

    expect(sidebar.part("strangers")).to_be_hidden()
    expect(notebook.part("strangers").last).to_be_hidden()
    expect(sidebar.row("code")).not_to_contain_text("not trusted")
    sidebar.row("shown").click()
    sidebar.verb("rewind").click()
    expect(sidebar.part("notice")).to_contain_text("rewound to 'shown'")
    sidebar.row("code").click()
    sidebar.verb("rewind").click()
    expect(sidebar.part("notice")).to_contain_text("rewound to 'code'")
    assert notebook.printed("twice(2), Shape.sides") == "4 4"
    assert "built" in {mark.name for mark in marks.iterdir()}
