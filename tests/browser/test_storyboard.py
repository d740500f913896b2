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
    box, row = image.bounding_box(), sidebar.row("plot").bounding_box()
    assert box is not None
    assert row is not None
    assert row["y"] <= box["y"]
    assert box["y"] + box["height"] <= row["y"] + row["height"]
    for theme in ("Dark", "Light"):
        notebook.theme(theme)
        notebook.page.wait_for_timeout(300)
        sidebar.node.screenshot(path=pictures(f"storyboard-{theme.lower()}"))
    notebook.execute("%timeline")
    notebook.page.wait_for_timeout(1000)
    notebook.root.screenshot(path=pictures("storyboard-widget"))
