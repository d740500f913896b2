"""What Compare shows of values and displays: heads, numbers, scores, tables and plots as they look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.applications import lab_first
from tests.browser.notebooks import Notebook
from tests.browser.parts import Parts

SETUP = (
    "import numpy as np\nimport pandas as pd\nrng = np.random.default_rng(0)\nk = 1\n"
    "from sklearn.ensemble import RandomForestRegressor"
)
FIT = """\
%%checkpoint {}
df = pd.DataFrame({{'x': range(40), 'y': [k * v for v in range(40)]}})
noise = rng.normal(size=400) * k
column = pd.Series(noise, name='noise')
model = RandomForestRegressor(3, max_depth=k, oob_score=True, bootstrap=True, random_state=0)
import warnings; warnings.simplefilter('ignore')
model = model.fit(df[['x']], df.y)
df.style.set_caption(f'round {{k}} <script>window.planted = 1</script>')"""
PLOT = """\
%%checkpoint {}
import plotly.graph_objects as go
import plotly.io as pio
pio.renderers.default = 'plotly_mimetype+notebook'
go.Figure(go.Bar(y=[1, 2, k]), layout={{'title': f'round {{k}}', 'height': 220}})"""


def compared(parts: Parts, one: str, other: str) -> Locator:
    """The comparison of two checkpoints, in whichever view."""
    parts.row(one).click()
    parts.row(other).click(modifiers=["Shift"])
    comparison = parts.part("comparison")
    expect(comparison).to_be_visible()
    return comparison


def views(notebook: Notebook) -> list[Parts]:
    """The side panel and the widget, both of the same checkpoints."""
    notebook.sidebar.open()
    notebook.execute("%timeline")
    notebook.root.wait_for()
    return [notebook.sidebar, notebook]


@lab_first
def test_values_are_compared_by_head_numbers_and_scores(
    notebook: Notebook, pictures: Callable[[str], Path]
) -> None:
    notebook.load(SETUP, FIT.format("shallow"), "k = 3", FIT.format("deep"))

    for view in views(notebook):
        comparison = compared(view, "shallow", "deep")
        of = {n: comparison.locator(f"[data-name={n}]") for n in ("df", "noise", "column", "model")}
        heads = of["df"].locator("table")
        of["df"].get_by_text("first rows").click()
        expect(heads.nth(0).locator("tr").nth(3)).to_have_text("22")
        expect(heads.nth(1).locator("tr").nth(3)).to_have_text("26")
        expect(of["df"]).to_contain_text("cells in 1 column differ")
        for name in ("noise", "column"):
            expect(of[name].locator("svg rect")).to_have_count(32)
            expect(of[name].locator("figure").first).to_contain_text("mean ")
        lines = of["model"].locator("[role=row]").all_inner_texts()
        assert [line.split()[0] for line in lines[:2]] == ["model.max_depth", "model.oob_score_"]
        view.root.screenshot(path=pictures(f"compare-{type(view).__name__.lower()}"))


@lab_first
def test_displays_stand_side_by_side_as_the_notebook_draws_them(
    notebook: Notebook, pictures: Callable[[str], Path]
) -> None:
    notebook.load(SETUP, FIT.format("shallow"), "k = 3", FIT.format("deep"))
    assert notebook.page.evaluate("window.planted") == 1  # a cell that the user runs is trusted
    notebook.page.evaluate("delete window.planted")

    for view in views(notebook):
        displays = compared(view, "shallow", "deep").locator(".nbckpt-Timeline-displays")
        tables = displays.locator("table")
        expect(tables).to_have_count(2)
        expect(tables.nth(0).locator("caption")).to_contain_text("round 1")
        expect(tables.nth(1).locator("caption")).to_contain_text("round 3")
        view.root.screenshot(path=pictures(f"displays-{type(view).__name__.lower()}"))
    assert notebook.page.evaluate("window.planted") is None


@pytest.mark.parametrize("application", ["lab"], indirect=True)
def test_plots_of_a_front_ends_extension_are_drawn_by_it(
    notebook: Notebook, pictures: Callable[[str], Path]
) -> None:
    notebook.load(SETUP, PLOT.format("low"), "k = 3", PLOT.format("high"))

    for view in views(notebook):
        displays = compared(view, "low", "high").locator(".nbckpt-Timeline-displays")
        expect(displays.locator(".js-plotly-plot")).to_have_count(2)
        expect(displays.locator(".js-plotly-plot").nth(1)).to_contain_text("round 3")
        view.root.screenshot(path=pictures(f"plots-{type(view).__name__.lower()}"))
