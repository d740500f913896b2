"""The pictures of the documentation, made anew: ``python -m tests.browser.screenshots [FOLDER]``.

Each shows a real JupyterLab with a real kernel, in both themes; a test sees to it that none is
larger than `MOST_BYTES`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.applications import Application
from tests.browser.chromium import browser
from tests.browser.dying import Dying
from tests.browser.marked import Marked
from tests.browser.sidebars import Sidebar
from tests.browser.test_scrubber import SCRUB

IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
MOST_BYTES = 150_000
THEMES = ("Light", "Dark")
SIZE = (1180, 760)
PANEL_PX = 480
COLOURS = 128
"""Of a picture of text and two plots; more cannot be told apart."""
PLOT = """\
%%checkpoint plot
ax = df.plot.scatter('hours', 'score', s=8, figsize=(4, 2.4))
ax.plot(df.hours, model.predict(df[['hours']]), color='C1'); plt.show()"""
CELLS = (
    "%load_ext nbckpt",
    "import os, time\nimport numpy as np, pandas as pd, matplotlib.pyplot as plt\n"
    "from sklearn.ensemble import RandomForestRegressor\n"
    "open('pid', 'w').write(str(os.getpid())) and None",
    "%%checkpoint load\nrng = np.random.default_rng(7)\nhours = rng.uniform(0, 10, 400).round(1)\n"
    "df = pd.DataFrame({'hours': hours, 'score': hours * 6 + rng.normal(0, 9, 400)})\ndf.head()",
    "%%checkpoint clean --note 'without outliers'\ndf = df[df.score.between(0, 70)].sort_values('hours')\ndf.describe()",
    "%%checkpoint train --tag baseline\ndepth = 2\n"
    "model = RandomForestRegressor(20, max_depth=depth, oob_score=True, random_state=0)\n"
    "model = model.fit(df[['hours']], df.score)\nround(model.oob_score_, 3)",
    PLOT,
    "import nbckpt\nvectors = []\nwith nbckpt.checkpoint('embed', vars=['vectors']) as step:\n"
    "    for text in step.track([f'document {i}' for i in range(12)]):\n"
    "        vectors.append(len(text))\n"
    "        time.sleep(float(open(os.getcwd() + '-pace').read()))",
    "%%checkpoint report\nprint(len(vectors), 'vectors, score', round(model.oob_score_, 3))",
    "",
)


class Studio:
    """A notebook whose pictures are taken.

    Attributes
    ----------
    notebook
        The notebook, its panel wide open.
    """

    def __init__(self, notebook: Dying, folder: Path) -> None:
        self.notebook = notebook
        self._folder = folder

    @property
    def page(self) -> Page:
        """Its page."""
        return self.notebook.page

    @property
    def sidebar(self) -> Sidebar:
        """Its panel."""
        return self.notebook.sidebar

    def take(self, name: str) -> None:
        """Take the page in both themes."""
        for theme in THEMES:
            self.notebook.theme(theme)
            self.page.wait_for_timeout(400)  # what is drawn in steps
            path = self._folder / f"{name}-{theme.lower()}.png"
            self.page.screenshot(path=path)
            with Image.open(path) as image:
                few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            few.save(path, optimize=True)
            size = path.stat().st_size
            assert size <= MOST_BYTES, f"{path.name} has {size:,} bytes"
        self.notebook.theme("Light")


@contextmanager
def studio(home: Path, folder: Path) -> Iterator[Studio]:
    """A notebook in a browser of its own, its cells not run yet."""
    with browser(home / "profile") as context, Application("lab", home / "lab") as lab:
        notebook = Dying(lab, context, CELLS)
        notebook.page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
        Marked(notebook).choose("rewindPage", "never")
        notebook.sidebar.open()
        _widen(notebook.page)
        yield Studio(notebook, folder)
        notebook.page.close()


def _widen(page: Page) -> None:
    """Drag the edge of the panel to where there is room for its details."""
    edge = page.locator("#jp-main-split-panel > .lm-SplitPanel-handle:not(.lm-mod-hidden)").first
    box = edge.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(PANEL_PX, box["y"] + 300, steps=5)
    page.mouse.up()


def storyboard(at: Studio) -> None:
    """The list after a fork, with what each cell showed."""
    at.notebook.run_all()
    expect(at.sidebar.row("report")).to_be_visible(timeout=60_000)
    at.notebook.execute("%fork clean deep\n%switch main")
    expect(at.sidebar.row("report")).to_be_visible()
    at.notebook.edit(4, CELLS[4].replace("depth = 2", "depth = 5"))
    for index in (4, 5):
        at.notebook.run(index)
    at.sidebar.root.get_by_role("checkbox", name="auto").uncheck()
    expect(at.sidebar.row("plot").locator("img")).to_be_visible()
    at.page.wait_for_timeout(1000)
    at.take("storyboard")


def panel(at: Studio) -> None:
    """One step with its details."""
    at.sidebar.row("train").click()
    expect(at.sidebar.part("details")).to_contain_text("model")
    at.take("panel")


def comparison(at: Studio) -> None:
    """Two runs of the cell that plots."""
    at.sidebar.row("plot").click()
    rows = at.sidebar.root.locator('.nbckpt-Timeline-row[data-name="plot"]')
    rows.last.click(modifiers=["Shift"])
    expect(at.sidebar.part("comparison").locator("img").first).to_be_visible()
    at.take("comparison")


def variable_history(at: Studio) -> None:
    """The steps that changed the table."""
    at.sidebar.row("clean").click()
    at.sidebar.root.get_by_role("button", name="df", exact=True).click()
    expect(at.sidebar.part("variablePage")).to_be_visible()
    at.take("variable-history")
    at.sidebar.part("close").click()


def scrubber(at: Studio) -> None:
    """The cells as they were, along the notebook's time."""
    at.page.evaluate(SCRUB)
    strip = at.page.locator(".nbckpt-Scrubber")
    expect(strip.get_by_role("slider")).to_be_focused()
    at.page.keyboard.press("Home")
    at.page.keyboard.press("ArrowRight")
    at.take("scrubber")
    strip.get_by_role("button", name="Close").click()


def resume(at: Studio) -> None:
    """What is said of a kernel that was killed in a loop."""
    at.notebook.pace(0.5)
    at.notebook.edit(6, CELLS[6].replace("range(12)", "range(24)"))
    at.notebook.run(6, waits=False)
    at.page.wait_for_timeout(4000)
    at.notebook.kill()
    at.notebook.pace(0)
    expect(at.sidebar.ended).to_contain_text("The kernel died", timeout=30_000)
    at.notebook.close_dialogs()
    # The application's notification offers the same, and would cover the cell.
    at.page.add_style_tag(content=".Toastify { display: none }")
    at.page.wait_for_timeout(1500)  # the panel knows what a resume would bring
    at.take("resume")


SCENES: tuple[Callable[[Studio], None], ...] = (
    storyboard,
    panel,
    comparison,
    variable_history,
    scrubber,
    resume,
)


def main(folder: Path = IMAGES) -> None:
    """Make all pictures, one scene after the other in the same notebook."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, studio(Path(home), folder) as at:
        for scene in SCENES:
            scene(at)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
