"""Charts of Altair and plots of Bokeh where recorded outputs are shown; no script of theirs runs there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from tests.browser.applications import Application
from tests.browser.dying import Dying
from tests.browser.marked import Marked
from tests.browser.notebooks import Notebook
from tests.browser.test_branches_view import OPEN
from tests.browser.test_compare import compared, views
from tests.browser.test_scrubber import SCRUB

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

ALTAIR = "import altair as alt\nimport pandas as pd\nk = 1"
BOKEH = (
    "from bokeh.plotting import figure, show\nfrom bokeh.io import output_notebook\n"
    "from bokeh.models import CustomJS\nfrom bokeh.resources import INLINE\n"
    "output_notebook(INLINE)\nk = 1"
)
CHART = (
    "df = pd.DataFrame({'x': [1, 2, 3], 'y': [1, 4, k]})\n"
    "alt.Chart(df, title=f'round {k}', height=120, width=120).mark_bar().encode(x='x:O', y='y:Q')"
)
MIME = "alt.renderers.enable('mimetype');\n"
PLOT = (
    "def drawn(k):\n"
    "    plot = figure(height=200, width=200, title=f'round {k}')\n"
    "    plot.line([1, 2, 3], [1, 4, k], legend_label='line')\n"
    "    plot.scatter([1, 2, 3], [3, 1, k], size=8)\n"
    "    return plot\n"
)
SHOWN = "show(drawn(k))"
CHARTED = f"%%checkpoint chart\n{MIME}{CHART}"
DRAWN_CHART = ".jp-RenderedVegaLite .vega-embed canvas"
DRAWN_PLOT = ".bk-Figure"
CALLING = (
    "plot = drawn(k)\n"
    "plot.x_range.js_on_change('start', CustomJS(code='window.planted = 1'))\n"
    "show(plot)\ndel plot"
)
TITLES = (
    "() => window.Bokeh.documents.flatMap(each => each.roots()).map(root => root.title.text).sort()"
)


def step(name: str, code: str) -> str:
    return f"%%checkpoint {name}\n{code}"


@pytest.fixture
def no_libraries(notebook: Notebook) -> Iterator[None]:
    """What Altair's script fetches draws nothing."""
    at, body = "**/npm/vega*", "window.vegaEmbed = () => Promise.resolve()"

    def answer(route: Route) -> None:
        route.fulfill(body=body, content_type="text/javascript")

    notebook.page.route(at, answer)
    yield
    notebook.page.unroute(at, answer)


@pytest.mark.parametrize("renderer", ["", MIME], ids=["html", "mimetype"])
def test_charts_of_altair_are_drawn_by_the_front_end(
    notebook: Notebook, pictures: Callable[[str], Path], no_libraries: None, renderer: str
) -> None:
    notebook.load(ALTAIR, step("low", renderer + CHART), "k = 3", step("high", renderer + CHART))

    for view in views(notebook):
        displays = compared(view, "low", "high").locator(".nbckpt-Timeline-displays")
        expect(displays).to_contain_text("1 output differs")
        expect(displays.locator(DRAWN_CHART)).to_have_count(2)
        name = "mime" if renderer else "html"
        view.root.screenshot(path=pictures(f"altair-{name}-{type(view).__name__.lower()}"))


def test_plots_of_bokeh_are_drawn_by_what_the_notebook_has_loaded(
    notebook: Notebook, pictures: Callable[[str], Path]
) -> None:
    notebook.load(BOKEH, PLOT, step("low", SHOWN), "k = 3", step("high", SHOWN))
    page = notebook.page
    expect(page.locator(f".jp-Notebook {DRAWN_PLOT}")).to_have_count(2)
    before = page.evaluate(TITLES)

    for view in views(notebook):
        displays = compared(view, "low", "high").locator(".nbckpt-Timeline-displays")
        expect(displays).to_contain_text("1 output differs")
        expect(displays.locator(DRAWN_PLOT)).to_have_count(2)
        view.root.screenshot(path=pictures(f"bokeh-{type(view).__name__.lower()}"))
    assert page.evaluate(TITLES) == sorted([*before, *["round 1", "round 3"] * 2])

    page.evaluate("window.Bokeh = undefined")  # as in a page that has run nothing yet
    for view in (notebook.sidebar, notebook):
        view.row("low").click()
        displays = compared(view, "low", "high").locator(".nbckpt-Timeline-displays")
        hint = "A Bokeh plot: run the cell with output_notebook() to see it here"
        expect(displays.get_by_text(hint)).to_have_count(2)
        view.root.screenshot(path=pictures(f"bokeh-unloaded-{type(view).__name__.lower()}"))


def test_no_code_in_an_output_runs_in_a_comparison(
    notebook: Notebook, pictures: Callable[[str], Path]
) -> None:
    html = (
        "from IPython.display import HTML, display\n"
        "display(HTML(f'<div></div><script>window.planted = {k}</script>'))"
    )
    notebook.load(
        BOKEH, PLOT, step("low", f"{CALLING}\n{html}"), "k = 3", step("high", f"{CALLING}\n{html}")
    )
    notebook.page.wait_for_function("window.planted")
    notebook.page.wait_for_timeout(500)
    notebook.page.evaluate("delete window.planted")

    for view in views(notebook):
        displays = compared(view, "low", "high").locator(".nbckpt-Timeline-displays")
        hint = "Drawn by a script, which does not run here: run the cell to see it."
        expect(displays.get_by_text(hint)).to_have_count(4)
        view.root.screenshot(path=pictures(f"scripted-{type(view).__name__.lower()}"))
    notebook.page.wait_for_timeout(300)
    assert notebook.page.evaluate("window.planted") is None


@pytest.fixture
def dying(application: Application, context: BrowserContext) -> Iterator[Dying]:
    """A notebook with a chart and a plot, each in a step of its own."""
    cells = ("%load_ext nbckpt", f"{ALTAIR}\n{BOKEH}\n{PLOT}", step("plot", SHOWN), CHARTED, "")
    dying = Dying(application, context, cells)
    dying.sidebar.open()
    for index in range(4):
        dying.run(index)
    yield dying
    dying.close()


def test_they_are_drawn_in_ghosts_and_beside_another_branch(
    dying: Dying, pictures: Callable[[str], Path]
) -> None:
    page, marked = dying.page, Marked(dying)
    for name, line in (("chart", "chart: round 1"), ("plot", "Bokeh plot")):
        glance = dying.sidebar.row(name).locator(".nbckpt-Timeline-glance")
        expect(glance).to_have_text(line)
    marked.edit(2, step("plot", "show(drawn(k + 1))"))
    marked.edit(3, CHARTED.replace("round", "again"))
    for index in (2, 3):
        dying.run(index)
    expect(dying.sidebar.part("row")).to_have_count(4)
    page.evaluate(SCRUB)
    expect(page.locator(".nbckpt-Scrubber").get_by_role("slider")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")

    ghosts = page.locator(".nbckpt-Timeline-ghost")
    expect(ghosts.locator(DRAWN_CHART)).to_have_count(1)
    expect(ghosts.locator(DRAWN_PLOT)).to_have_count(1)
    page.screenshot(path=pictures("charts-ghosts"))
    page.keyboard.press("Escape")
    expect(ghosts).to_have_count(0)

    marked.edit(2, step("plot", "show(drawn(k + 2))"))
    dying.execute("%fork plot other")
    for index in (2, 3):
        dying.run(index)
    expect(dying.sidebar.part("row")).to_have_count(6)
    page.evaluate(OPEN)
    page.locator(".jp-Dialog").get_by_role("button", name="Compare").click()
    view = page.locator(".nbckpt-Branches")
    expect(view.get_by_role("status")).to_have_text("1 cell differs")
    view.locator("summary", has_text="chart").click()
    expect(view.locator(DRAWN_CHART)).to_have_count(2)
    expect(view.locator(DRAWN_PLOT)).to_have_count(2)
    page.screenshot(path=pictures("charts-branches"))


def test_a_restored_cell_shows_them_again(dying: Dying, pictures: Callable[[str], Path]) -> None:
    marked = Marked(dying)
    charted = marked.outputs(3)
    dying.page.evaluate(
        "() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')"
    )
    dying.restart()

    for index in range(4):
        dying.run(index)

    for index in (2, 3):
        expect(marked.mark(index)).to_contain_text("restored")
    expect(marked.cell(2).locator(DRAWN_PLOT)).to_have_count(1)
    assert charted.strip() in marked.outputs(3)
    dying.page.screenshot(path=pictures("charts-restored"))
