"""No violation that axe-core finds, in any state of the panel and of the dialogs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.marked import Marked
from tests.browser.notebooks import Notebook
from tests.browser.sidebars import Sidebar
from tests.node_packages import SOURCE, npm

AXE = SOURCE / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async ([within, without]) => {
  const found = await axe.run({ include: [within], exclude: without });
  return found.violations.map(one => [
    one.id, one.help, one.nodes.map(node => `${node.html} ${node.failureSummary}`)
  ]);
}"""
CELLS = (
    "%%checkpoint load\nimport pandas as pd\n"
    "df = pd.DataFrame({'x': range(90), 'c': 'b'})\nlosses = [0.9]\ndf",
    "%%checkpoint plot\nimport matplotlib.pyplot as plt\n_ = plt.plot(df.x)\nplt.show()",
    "%%checkpoint train --tag best\nlosses.append(0.5)\nprint('fitted')",
    "%%checkpoint train\nlosses.append(0.3)\nprint('fitted again')",
)


def violations(page: Page, within: str, *without: str) -> list[str]:
    """What axe finds wrong within an element, a text for each."""
    if not page.evaluate("typeof axe === 'object'"):
        npm()
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(RUN, [within, list(without)])
    return [f"{rule}: {told}: {nodes}" for rule, told, nodes in found]


@pytest.fixture
def sidebar(notebook: Notebook, variables_only: None) -> Iterator[Sidebar]:
    notebook.sidebar.open()
    notebook.load(*CELLS[:3])
    notebook.execute(CELLS[3])
    expect(notebook.sidebar.row("train").first).to_be_visible()
    yield notebook.sidebar
    notebook.page.keyboard.press("Escape")
    notebook.theme("Light")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_the_panel_in_each_of_its_states(notebook: Notebook, sidebar: Sidebar, theme: str) -> None:
    page, panel = notebook.page, ".nbckpt-Panel"
    notebook.theme(theme)

    assert violations(page, panel) == [], "the list"
    sidebar.row("train").first.click()
    expect(sidebar.part("details")).to_be_visible()
    assert violations(page, panel) == [], "details"
    sidebar.root.get_by_role("button", name="losses", exact=True).click()
    expect(sidebar.root.locator(".nbckpt-Timeline-variablePage")).to_be_visible()
    assert violations(page, panel) == [], "the history of a variable"
    sidebar.root.get_by_role("button", name="← Back").click()
    sidebar.root.get_by_role("button", name="More actions").click()
    assert violations(page, panel) == [], "the menu"
    page.keyboard.press("Escape")
    sidebar.verb("fork").click()
    assert violations(page, panel) == [], "a form"
    page.keyboard.press("Escape")
    sidebar.root.get_by_role("button", name="Keys and filter words").click()
    assert violations(page, panel) == [], "help"
    sidebar.root.get_by_role("button", name="Keys and filter words").click()
    sidebar.row("load").click(modifiers=["Control"])
    expect(sidebar.part("comparison")).to_be_visible()
    expect(sidebar.part("display")).to_be_visible()
    # What a cell displayed is the user's, or pandas': its tables have headers without a text.
    assert violations(page, panel, ".nbckpt-Timeline-display") == [], "a comparison"


def test_at_200_per_cent_and_at_250_pixels(notebook: Notebook, sidebar: Sidebar) -> None:
    page = notebook.page
    sidebar.row("train").first.click()
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": size["width"] // 2, "height": size["height"] // 2})
    try:
        assert violations(page, ".nbckpt-Panel") == []
    finally:
        page.set_viewport_size(size)


def test_what_is_said_where_there_is_no_list(notebook: Notebook, sidebar: Sidebar) -> None:
    notebook.fill("%unload_ext nbckpt", "")
    notebook.run(0)
    expect(sidebar.remedy("enable")).to_be_visible()

    assert violations(notebook.page, ".nbckpt-Panel") == []
    notebook.fill("%load_ext nbckpt", "")
    notebook.run(0)


@pytest.mark.parametrize("application", ["lab"], indirect=True)
def test_the_dialogs(notebook: Notebook, sidebar: Sidebar) -> None:
    Marked(notebook).edit(2, CELLS[1] + "\n")
    sidebar.row("load").click()
    sidebar.verb("rerun").click()
    dialog = notebook.page.locator(".jp-Dialog")
    dialog.wait_for()

    assert violations(notebook.page, ".nbckpt-RerunBody") == []
    dialog.get_by_role("button", name="Cancel").click()


def test_the_widget(notebook: Notebook, sidebar: Sidebar) -> None:
    notebook.execute("%timeline")
    notebook.root.wait_for()

    assert violations(notebook.page, ".jp-OutputArea .nbckpt-Timeline-root") == []
