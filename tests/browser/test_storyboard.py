"""Rows show what their cells showed: a thumbnail, the head of a table, a line of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.notebooks import Notebook

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

CELLS = (
    "%%checkpoint load\nimport pandas as pd\n"
    "df = pd.DataFrame({'x': range(90), 'y': [v * v for v in range(90)], 'label': 'b'})\ndf",
    "%%checkpoint plot\nimport matplotlib.pyplot as plt\n_ = plt.plot(df.x, df.y)\nplt.show()",
    "%%checkpoint score\nprint('fitting')\nround(0.93456, 3)",
    "%%checkpoint quiet\nn = 1",
)


def test_each_row_shows_its_cells_output(
    notebook: Notebook, variables_only: None, pictures: Callable[[str], Path]
) -> None:
    sidebar = notebook.sidebar
    sidebar.open()
    notebook.load(*CELLS)
    glance = ".nbckpt-Timeline-glance"

    image = sidebar.row("plot").locator(f"{glance} img")
    expect(image).to_be_visible()
    assert 0 < image.evaluate("image => image.naturalWidth") <= 112
    assert len(image.get_attribute("src") or "") < 8_000 * 4 / 3 + 40
    expect(sidebar.row("load").locator(f"{glance}.nbckpt-is-table")).to_contain_text("label")
    expect(sidebar.row("score").locator(f"{glance}.nbckpt-is-text")).to_have_text("0.935")
    expect(sidebar.row("quiet").locator(glance)).to_have_count(0)
    # At one instant: the list may move between two questions.
    edges = "row => [row, row.querySelector('img')].map(each => each.getBoundingClientRect())"
    row, box = sidebar.row("plot").evaluate(f"row => ({edges})(row).map(r => [r.top, r.bottom])")
    assert row[0] <= box[0]
    assert box[1] <= row[1]
    for theme in ("Dark", "Light"):
        notebook.theme(theme)
        notebook.page.wait_for_timeout(300)
        sidebar.node.screenshot(path=pictures(f"storyboard-{theme.lower()}"))
    notebook.execute("%timeline")
    notebook.page.wait_for_timeout(1000)
    notebook.root.screenshot(path=pictures("storyboard-widget"))


def test_pictures_of_two_checkpoints_are_laid_against_each_other(
    notebook: Notebook, variables_only: None, pictures: Callable[[str], Path]
) -> None:
    sidebar = notebook.sidebar
    sidebar.open()
    plot = (
        "%%checkpoint {}\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 2, k])\nplt.show()\n"
        "_ = plt.bar([1, 2], [1, 2])\nplt.show()"
    )
    notebook.load("k = 3", plot.format("early"), "k = 9", plot.format("late"))
    expect(sidebar.part("row")).to_have_count(2)
    rows = sidebar.part("row")
    rows.nth(0).click()
    rows.nth(1).click(modifiers=["Shift"])

    expect(sidebar.part("pictures")).to_contain_text("1 picture differs")
    expect(sidebar.part("pictures")).to_contain_text("1 picture is the same")
    sides = sidebar.part("pictures").locator("figure img")
    expect(sides).to_have_count(2)
    left, right = (side.bounding_box() for side in sides.all())
    assert left is not None
    assert right is not None
    assert left["x"] + left["width"] <= right["x"]
    sidebar.node.screenshot(path=pictures("compare-side"))
    for mode in ("Swipe", "Overlay", "Difference"):
        sidebar.root.get_by_role("button", name=mode).click()
        first, second = (side.bounding_box() for side in sides.all())
        assert first is not None
        assert second is not None
        assert (first["x"], first["y"]) == (second["x"], second["y"]), mode
        sidebar.node.screenshot(path=pictures(f"compare-{mode.lower()}"))
    expect(sidebar.root.get_by_role("button", name="Difference")).to_have_attribute(
        "aria-pressed", "true"
    )
