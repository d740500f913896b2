"""How long a click takes in a notebook as people have them, beside the kernel's own time."""

from __future__ import annotations

import socket
import statistics
from collections.abc import Iterator
from datetime import datetime

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.applications import Application
from tests.browser.dying import Dying
from tests.browser.marked import Marked
from tests.browser.test_realistic import CELLS, N_DOCUMENTS

pytestmark = [
    pytest.mark.parametrize("application", ["lab"], indirect=True),
    pytest.mark.long,
]

BESIDE_KERNEL_MS = 300
DETAILS_MS = 100
PLACES = ("clean", "fit", "summaries", "load", "report", "split")
# The page's own clock: a driver's round trips are not the user's.
STOPWATCH = """() => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const watch = { pressed: 0, details: 0, notice: 0, reply: null };
  const panel = document.querySelector('.nbckpt-Panel');
  const shown = name => panel.querySelector(`.nbckpt-Timeline-${name}`);
  document.body.addEventListener('pointerdown', () => {
    Object.assign(watch, { pressed: performance.now(), details: 0, notice: 0, reply: null });
    watch.before = shown('details')?.dataset.id;
  }, true);
  new MutationObserver(() => {
    const details = shown('details');
    if (details && details.dataset.id !== watch.before) {
      watch.details ||= performance.now() - watch.pressed;
    }
    if (shown('notice')?.textContent.includes('rewound to')) {
      watch.notice ||= performance.now() - watch.pressed;
    }
  }).observe(panel, { subtree: true, childList: true, characterData: true });
  kernel.anyMessage.connect((_, { msg }) => {
    if (msg.header.msg_type === 'execute_reply') {
      watch.reply ??= { started: msg.metadata.started, ended: msg.header.date };
    }
  });
  window.watch = watch;
}"""


@pytest.fixture
def dying(application: Application, context: BrowserContext) -> Iterator[Dying]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dying = Dying(application, context, [cell.replace("PORT", str(port)) for cell in CELLS])
    dying.sidebar.open()
    Marked(dying).choose("rewindPage", "always")
    dying.run_all()
    dying.last.get_by_text(f"report of {N_DOCUMENTS} offline True").wait_for(timeout=120_000)
    dying.page.wait_for_timeout(1500)
    yield dying
    Marked(dying).choose("rewindPage", "ask")
    dying.close()


def own_time_ms(reply: dict[str, str]) -> float:
    """How long the kernel itself was at it."""
    took = datetime.fromisoformat(reply["ended"]) - datetime.fromisoformat(reply["started"])
    return took.total_seconds() * 1000


def test_a_rewind_takes_little_more_than_the_kernel_does(dying: Dying) -> None:
    details: list[float] = []
    beside: list[float] = []
    dying.page.evaluate(STOPWATCH)
    for name in PLACES:
        dying.sidebar.row(name).click()
        expect(dying.sidebar.part("details")).to_contain_text(name)
        dying.page.wait_for_function("() => window.watch.details > 0")
        details.append(dying.page.evaluate("window.watch.details"))
        dying.sidebar.verb("rewind").click()
        dying.page.wait_for_function("() => window.watch.notice > 0")
        watch = dying.page.evaluate("window.watch")
        beside.append(watch["notice"] - own_time_ms(watch["reply"]))
        expect(dying.sidebar.here).to_have_attribute("data-name", name)

    assert statistics.median(details) < DETAILS_MS, details
    assert statistics.median(beside) < BESIDE_KERNEL_MS, beside
