"""Two branches side by side: the same cells in two columns, what differs unfolded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.notebooks import Notebook

OPEN = "() => { void window.jupyterapp.commands.execute('nbckpt:compare-branches'); }"
CELLS = (
    "%%checkpoint load\nimport pandas as pd\ndf = pd.DataFrame({'x': [1, 2, 3]})\ndf",
    "%%checkpoint params\nk = 3",
    "%%checkpoint plot\nimport matplotlib.pyplot as plt\n_ = plt.plot(df.x * k)\nplt.show()",
    "%%checkpoint score\nprint('score', k * 2)",
)


@pytest.fixture
def view(notebook: Notebook, variables_only: None) -> Iterator[Locator]:
    notebook.sidebar.open()
    notebook.load(*CELLS)
    notebook.execute("%fork params try-k5 k=5")
    notebook.run(3)
    notebook.run(4)
    expect(notebook.sidebar.here).to_have_attribute("data-name", "score")
    notebook.page.evaluate(OPEN)
    dialog = notebook.page.locator(".jp-Dialog")
    dialog.get_by_role("button", name="Compare").click()
    view = notebook.page.locator(".nbckpt-Branches")
    expect(view).to_be_visible()
    yield view
    notebook.page.evaluate("() => window.jupyterapp.commands.execute('application:close')")
    notebook.page.wait_for_timeout(100)


def cell(view: Locator, name: str) -> Locator:
    return view.locator("details").filter(has=view.page.locator("summary", has_text=name))


@pytest.mark.parametrize("application", ["lab"], indirect=True)
def test_what_differs_is_unfolded_and_what_is_the_same_is_not(
    notebook: Notebook, view: Locator, pictures: Callable[[str], Path]
) -> None:
    assert view.locator("h2").all_inner_texts() == ["try-k5", "main"]
    expect(view.get_by_role("status")).to_have_text("2 cells differ")
    score, load = cell(view, "score"), cell(view, "load")
    expect(score).to_have_attribute("open", "")
    sides = score.locator(".nbckpt-Timeline-branchesSide").all_inner_texts()
    assert [side.split("\n")[1:3] for side in sides] == [
        ["print('score', k * 2)", "score 10"],
        ["print('score', k * 2)", "score 6"],
    ]
    images = cell(view, "plot").locator("img")
    expect(images).to_have_count(2)
    assert images.nth(0).get_attribute("src") != images.nth(1).get_attribute("src")
    expect(load).not_to_have_attribute("open", "")
    expect(load.locator("table")).to_have_count(0)
    notebook.page.screenshot(path=pictures("branches"))

    load.locator("summary").click()

    expect(load.locator("table")).to_have_count(2)
