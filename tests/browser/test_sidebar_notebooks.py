"""The side panel is right whatever becomes of notebooks, windows and kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.notebooks import Notebook
from tests.browser.sidebars import Sidebar

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

FIRST, SECOND = "history.ipynb", "beside.ipynb"
PANEL = "window.jupyterapp?.shell?.currentWidget"
SESSION = f"{PANEL}?.sessionContext"
SPLIT = """path => window.jupyterapp.commands.execute(
  'docmanager:open', { path, options: { mode: 'split-right' } })"""
ACTIVATE = """label => {
  const { shell } = window.jupyterapp;
  const panel = [...shell.widgets('main')].find(each => each.title.label === label);
  shell.activateById(panel.id);
}"""
CLOSE = """async kept => {
  for (const panel of [...window.jupyterapp.shell.widgets('main')]) {
    if (panel.title.label !== kept) {
      await panel.context?.save();
      panel.dispose();
    }
  }
}"""
UNLIST = """async () => {
  const panels = [...window.jupyterapp.shell.widgets('left')];
  await panels.find(each => each.id === 'filebrowser').model.cd('nowhere');
}"""
MISSING = """\
import sys
class Missing:
    def find_spec(self, name, *_):
        if name.partition('.')[0] == 'nbckpt':
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Missing())"""


@pytest.fixture
def sidebar(notebook: Notebook, variables_only: None) -> Iterator[Sidebar]:
    notebook.sidebar.open()
    yield notebook.sidebar
    notebook.page.evaluate(CLOSE, FIRST)
    notebook.page.evaluate(ACTIVATE, FIRST)


def open_second(notebook: Notebook) -> None:
    """Another notebook in the same page, which keeps its kernel from test to test."""
    notebook.open(SECOND.removesuffix(".ipynb"))
    expect(notebook.sidebar.title).to_have_text(SECOND)


def test_nbckpt_is_enabled_by_a_click(notebook: Notebook, sidebar: Sidebar) -> None:
    open_second(notebook)
    expect(sidebar.plight).to_contain_text("nbckpt is not enabled in this notebook")
    expect(sidebar.remedy("enable")).to_have_text("Enable nbckpt in this notebook")
    notebook.fill(MISSING, "")
    notebook.run(0)
    sidebar.remedy("enable").click()
    expect(sidebar.plight.get_by_role("alert")).to_contain_text("%pip install nbckpt")
    notebook.execute("del sys.meta_path[0]")

    sidebar.enable()

    expect(sidebar.part("empty")).to_contain_text("put %%checkpoint on top of a cell")
    notebook.execute("%%checkpoint first\na = 1")
    expect(sidebar.row("first")).to_be_visible()
    sources = notebook.page.evaluate(
        f"{PANEL}.content.model.sharedModel.cells.map(cell => cell.getSource())"
    )
    assert sources == [MISSING, "%%checkpoint first\na = 1"]


def test_two_notebooks_side_by_side(notebook: Notebook, sidebar: Sidebar) -> None:
    notebook.load("%%checkpoint one\nx = 1", "%%checkpoint two\nx = 2")
    expect(sidebar.row("two")).to_be_visible()
    sidebar.row("one").click()

    notebook.page.evaluate(SPLIT, SECOND)
    open_second(notebook)
    notebook.load("%%checkpoint three\ny = 3")
    expect(sidebar.row("three")).to_be_visible()
    assert sidebar.names() == ["three"]

    notebook.page.evaluate(ACTIVATE, FIRST)
    expect(sidebar.title).to_have_text(FIRST)
    assert sidebar.names() == ["two", "one"]
    expect(sidebar.row("one")).to_have_attribute("aria-selected", "true")


def test_two_windows_on_one_notebook(notebook: Notebook, sidebar: Sidebar) -> None:
    notebook.load("%%checkpoint one\nx = 1", "%%checkpoint two\nx = 2")
    expect(sidebar.row("two")).to_be_visible()
    notebook.page.evaluate(f"{PANEL}.context.save()")
    other = notebook.page.context.new_page()
    errors: list[str] = []
    other.on("pageerror", lambda error: errors.append(str(error)))
    other.goto(notebook.page.url.replace("/lab/tree", "/lab/workspaces/other/tree"))
    other.wait_for_function(f"{SESSION}?.session?.kernel")
    second = Sidebar(other)
    second.open()

    expect(second.row("two")).to_be_visible()
    second.row("one").click()
    second.verb("rewind").click()
    expect(second.here).to_have_attribute("data-name", "one")
    expect(sidebar.here).to_have_attribute("data-name", "one")
    notebook.execute("%checkpoint three")
    expect(second.row("three")).to_be_visible()

    notebook.page.evaluate(f"{SESSION}.session.kernel.restart()")
    expect(second.anew).to_be_visible()
    sidebar.enable()
    notebook.execute("y = 4\n%checkpoint four")
    expect(second.row("four")).to_be_visible()
    other.close()
    notebook.execute("%checkpoint five")

    expect(sidebar.row("five")).to_be_visible()
    sidebar.row("four").click()
    expect(sidebar.part("details")).to_contain_text("y")
    assert errors == []


def test_a_notebook_that_is_renamed_closed_and_opened_again(
    notebook: Notebook, sidebar: Sidebar
) -> None:
    open_second(notebook)
    notebook.load("%%checkpoint one\nx = 1")
    expect(sidebar.row("one")).to_be_visible()

    rename = f"name => {PANEL}.context.save().then(() => {PANEL}.context.rename(name))"
    notebook.page.evaluate(rename, "other.ipynb")
    expect(sidebar.title).to_have_text("other.ipynb")
    notebook.execute("%checkpoint two")
    expect(sidebar.row("two")).to_be_visible()
    notebook.page.evaluate(rename, SECOND)
    notebook.page.evaluate(CLOSE, FIRST)
    expect(sidebar.title).to_have_text(FIRST)
    open_second(notebook)

    expect(sidebar.row("two")).to_be_visible()
    sidebar.row("one").click()
    expect(sidebar.part("details")).to_contain_text("x = 1")


def test_nbckpt_that_is_taken_off_and_loaded_again(notebook: Notebook, sidebar: Sidebar) -> None:
    notebook.load("%%checkpoint one\nx = 1")
    expect(sidebar.row("one")).to_be_visible()

    notebook.execute("%unload_ext nbckpt")
    expect(sidebar.remedy("enable")).to_be_visible()
    notebook.execute("%load_ext nbckpt")

    expect(sidebar.row("one")).to_be_visible()
    sidebar.row("one").click()
    expect(sidebar.part("details")).to_contain_text("x = 1")


def test_a_kernel_that_is_restarted_changed_and_shut_down(
    notebook: Notebook, sidebar: Sidebar
) -> None:
    open_second(notebook)
    notebook.load("%%checkpoint one\nx = 1")
    expect(sidebar.row("one")).to_be_visible()
    notebook.execute("import nbckpt; nbckpt.wait()")

    notebook.page.evaluate(f"{SESSION}.session.kernel.restart()")
    expect(sidebar.anew).to_be_visible()
    sidebar.enable()
    notebook.execute("%checkpoint again")
    expect(sidebar.row("again")).to_be_visible()

    change = f"{SESSION}.changeKernel({{ name: 'python3' }}).then(() => null)"
    notebook.page.evaluate(change)
    expect(sidebar.anew).to_be_visible()
    sidebar.enable()
    sidebar.row("again").click()
    sidebar.verb("rewind").click()
    expect(sidebar.here).to_have_attribute("data-name", "again")

    notebook.page.evaluate(f"{SESSION}.shutdown()")
    expect(sidebar.ended).to_contain_text("The notebook has no kernel now")
    expect(sidebar.ended.get_by_role("button", name="Choose a kernel…")).to_be_visible()
    expect(sidebar.row("again")).to_be_visible()


def test_a_dialog_of_jupyterlabs_own_is_closed(notebook: Notebook, sidebar: Sidebar) -> None:
    """Its list of files opens one where the server, under load, does not get to list them."""
    notebook.page.evaluate(UNLIST)
    notebook.page.wait_for_function("document.querySelector('.jp-Dialog')")
    sidebar.title.click()
    expect(notebook.page.locator(".jp-Dialog")).to_have_count(0)
