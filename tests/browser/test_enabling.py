"""nbckpt in all notebooks, by a button in the panel or by the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.marked import Marked
from tests.browser.notebooks import Notebook
from tests.browser.sidebars import Sidebar
from tests.browser.test_sidebar_notebooks import ACTIVATE, CLOSE, FIRST

# Notebook 7 shows one notebook in a page.
pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)


@pytest.fixture
def sidebar(notebook: Notebook, variables_only: None) -> Iterator[Sidebar]:
    notebook.sidebar.open()
    yield notebook.sidebar
    for name in ("enable", "auto"):
        Marked(notebook).choose(name, {"enable": "ask", "auto": "marked"}[name])
    notebook.page.evaluate(CLOSE, FIRST)
    notebook.page.evaluate(ACTIVATE, FIRST)


def test_one_click_enables_it_in_all_notebooks(
    notebook: Notebook, sidebar: Sidebar, pictures: Callable[[str], Path]
) -> None:
    notebook.open("to-enable")
    expect(sidebar.plight).to_contain_text("%%checkpoint train")
    notebook.page.screenshot(path=pictures("not-enabled"))
    sidebar.remedy("enable-everywhere").click()
    expect(sidebar.part("empty")).to_contain_text("put %%checkpoint on top of a cell")

    notebook.open("enabled-by-itself")

    expect(sidebar.part("empty")).to_contain_text("put %%checkpoint on top of a cell")
    notebook.fill("%%checkpoint first\na = 1", "")
    notebook.run(0)
    expect(sidebar.row("first")).to_be_visible()


HIDDEN = """\
import sys
class Hidden:
    def find_spec(name, *_):
        if name in {'nbckpt', 'blake3'}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden)
"""


def test_a_kernel_without_it_says_how_to_get_it_until_it_is_there(
    notebook: Notebook, sidebar: Sidebar, pictures: Callable[[str], Path]
) -> None:
    notebook.open("without")
    notebook.fill(HIDDEN, "sys.meta_path.remove(Hidden)", "")
    notebook.run(0)
    refusal = sidebar.plight.locator(".nbckpt-Timeline-error")

    sidebar.remedy("enable").click()
    expect(refusal).to_contain_text("run %pip install nbckpt, then enable it")
    notebook.page.screenshot(path=pictures("enable-without"))

    notebook.run(1)
    sidebar.remedy("enable").click()
    expect(sidebar.part("empty")).to_be_visible()


def test_a_broken_installation_says_how_it_is_mended(notebook: Notebook, sidebar: Sidebar) -> None:
    notebook.open("broken")
    notebook.fill(HIDDEN.replace("'nbckpt', ", ""), "")
    notebook.run(0)
    refusal = sidebar.plight.locator(".nbckpt-Timeline-error")

    sidebar.remedy("enable").click()
    expect(refusal).to_contain_text("No module named 'blake3'")
    expect(refusal).to_contain_text("run %pip install --upgrade nbckpt, restart the kernel")

    notebook.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
    )
    expect(refusal).to_have_count(0)


def test_the_settings_say_which_cells_are_kept(notebook: Notebook, sidebar: Sidebar) -> None:
    Marked(notebook).choose("auto", "every")
    Marked(notebook).choose("enable", "always")

    notebook.open("every-cell")

    expect(sidebar.part("empty")).to_be_visible()
    notebook.fill("a = 1", "b = 2", "")
    notebook.run(0)
    notebook.run(1)
    expect(sidebar.root.locator(".nbckpt-Timeline-row")).to_have_count(2)


def test_who_unloads_it_is_not_given_it_again(notebook: Notebook, sidebar: Sidebar) -> None:
    Marked(notebook).choose("enable", "always")
    notebook.open("unloaded")
    expect(sidebar.part("empty")).to_be_visible()
    notebook.fill("%unload_ext nbckpt", "")

    notebook.run(0)

    expect(sidebar.remedy("enable")).to_be_visible()
    notebook.page.wait_for_timeout(1000)
    expect(sidebar.remedy("enable")).to_be_visible()
    expect(sidebar.plight).to_contain_text("not in this kernel")


def test_who_wants_it_nowhere_is_told_so(notebook: Notebook, sidebar: Sidebar) -> None:
    Marked(notebook).choose("enable", "never")

    notebook.open("nowhere")

    expect(sidebar.plight).to_contain_text("enabled nowhere by itself")
    expect(sidebar.remedy("enable-everywhere")).to_have_count(0)
    sidebar.remedy("settings").click()
    expect(notebook.page.locator(".jp-SettingsPanel, .jp-SettingsForm").first).to_be_visible()
    notebook.page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
    notebook.page.evaluate(ACTIVATE, "nowhere.ipynb")
    sidebar.enable()
    expect(sidebar.part("empty")).to_be_visible()
