"""A thousand checkpoints: only what is seen is drawn, so that scrolling costs what a screen costs.

How long that takes is printed, and not held against a clock: the machine has other work.
"""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.applications import lab_first
from tests.browser.notebooks import Notebook

pytestmark = lab_first

MANY = """\
import nbckpt.steps.current_session

def make():
    session = nbckpt.steps.current_session.session()
    for i in range(1, 1001):
        globals()['x'] = i
        if i % 50 == 0:
            session.fork(f'~{i % 7 + 1}', f'branch-{i}')
        session.checkpoint(f'step-{i}')

make()
"""
SCROLL = """async ([list, frames]) => {
  const element = document.querySelector(list);
  const rows = () => element.querySelectorAll('.nbckpt-Timeline-row').length;
  const end = element.scrollHeight - element.clientHeight;
  const took = [];
  let most = 0;
  await new Promise(done => {
    let n = 0;
    let last = performance.now();
    const step = now => {
      took.push(now - last);
      last = now;
      most = Math.max(most, rows());
      element.scrollTop = (end * n) / frames;
      if (n++ < frames) { requestAnimationFrame(step); } else { done(); }
    };
    requestAnimationFrame(step);
  });
  element.scrollTop = 0;
  return { took: took.slice(2), most, end };
}"""
FRAME_MS = 1000 / 60
FRAMES = 180
LIST = ".nbckpt-Timeline-list"
PANEL = ".nbckpt-Panel .nbckpt-Timeline-list"
# From the kernel's answer to what it is, to a row in the page and the frame that shows it.
SHOWN = """() => new Promise(done => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  let answered = 0;
  kernel.anyMessage.connect((_, { msg, direction }) => {
    if (direction === 'recv' && msg.content?.data?.result?.rows) { answered = performance.now(); }
  });
  const look = () => {
    const row = document.querySelector('.nbckpt-Panel .nbckpt-Timeline-row');
    if (answered && row) {
      requestAnimationFrame(() => setTimeout(() => done(performance.now() - answered)));
    } else {
      setTimeout(look, 2);
    }
  };
  look();
})"""


def late_share(took: list[float]) -> float:
    return sum(ms > 1.5 * FRAME_MS for ms in took) / len(took)


def measured(notebook: Notebook, where: str = LIST) -> tuple[dict[str, Any], float]:
    """The frames of a scroll of `where`, and the page's own work for each."""
    page = notebook.page
    chrome = page.context.new_cdp_session(page)
    chrome.send("Performance.enable", {"timeDomain": "threadTicks"})  # not what others do meanwhile

    def work_s() -> float:
        metrics = chrome.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    before = work_s()
    scrolled = page.evaluate(SCROLL, [where, FRAMES])
    busy_ms = (work_s() - before) * 1000 / FRAMES
    chrome.detach()
    return scrolled, busy_ms


@pytest.fixture(scope="module")
def thousand(page: Notebook) -> Notebook:
    page.begin(MANY)
    return page


@pytest.mark.usefixtures("thousand")
def test_a_thousand_checkpoints_scroll_smoothly(notebook: Notebook) -> None:
    expect(notebook.row("step-1000")).to_be_visible()
    assert (
        notebook.printed("len(nbckpt.steps.current_session.session().timeline.checkpoints) >= 1000")
        == "True"
    )

    scrolled, busy_ms = measured(notebook)
    took = scrolled["took"]
    print(
        f"{notebook.application.name}: {len(took)} frames of {busy_ms:.1f} ms work, median "
        f"{median(took):.1f} ms, longest {max(took):.0f} ms, {late_share(took):.1%} late, "
        f"{scrolled['most']} rows drawn of {scrolled['end']:.0f} px"
    )
    assert scrolled["end"] > 15_000
    assert scrolled["most"] < 100


@pytest.mark.usefixtures("thousand")
def test_the_oldest_is_there_at_the_end_of_the_list(notebook: Notebook) -> None:
    notebook.part("list").focus()
    notebook.page.keyboard.press("End")

    expect(notebook.row("step-1")).to_be_visible()
    notebook.page.keyboard.press("Home")
    expect(notebook.row("step-1000")).to_be_visible()


@pytest.mark.usefixtures("thousand")
def test_a_new_checkpoint_among_a_thousand_is_seen_at_once(notebook: Notebook) -> None:
    notebook.execute("x = -1\n%checkpoint newest")

    expect(notebook.row("newest")).to_be_visible(timeout=3_000)


@pytest.mark.usefixtures("thousand")
def test_a_thousand_checkpoints_in_the_panel(notebook: Notebook) -> None:
    sidebar = notebook.sidebar
    sidebar.open()
    expect(sidebar.row("step-1000")).to_be_visible()
    shown = []
    for _ in range(3):
        notebook.execute("%unload_ext nbckpt")
        expect(sidebar.plight).to_be_visible()
        notebook.page.evaluate(f"window.shown = null; ({SHOWN})().then(ms => window.shown = ms); 0")
        notebook.execute("%load_ext nbckpt")
        notebook.page.wait_for_function("window.shown !== null")
        shown.append(notebook.page.evaluate("window.shown"))

    scrolled, busy_ms = measured(notebook, PANEL)
    took = scrolled["took"]
    print(
        f"{notebook.application.name}: shown {median(shown):.0f} ms after the kernel's answer; "
        f"{len(took)} frames of {busy_ms:.1f} ms work, median {median(took):.1f} ms, longest "
        f"{max(took):.0f} ms, {late_share(took):.1%} late, {scrolled['most']} rows drawn"
    )
    assert scrolled["end"] > 15_000
    assert scrolled["most"] < 100
