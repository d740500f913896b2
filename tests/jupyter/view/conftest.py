"""The built widget on a bare page, with a kernel made of paper: what the view does, in Chromium."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route

from labextension.hatch_build import BUILT, build
from tests.browser.chromium import browser
from tests.jupyter.view import histories
from tests.jupyter.view.histories import Row

ROOT = Path(__file__).parents[3]
# Neither code from text nor handlers in attributes: hosts forbid both.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:"
HTML = """<!doctype html><html lang="en"><meta charset="utf-8"><title>timeline</title>
<link rel="stylesheet" href="/theme.css"><link rel="icon" href="data:,">
<body style="margin: 0"><div id="host"></div><script type="module" src="/page.js"></script>"""


class Timeline:
    """A timeline on a page, and the kernel behind it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def begin(
        self,
        rows: list[Row] | None = None,
        status: dict[str, Any] | None = None,
        older: int = 0,
        **answers: object,
    ) -> None:
        """Show `rows`; `answers` by op replace those that are always given."""
        rows = histories.small() if rows is None else rows
        status = status or histories.status("a6", head="a7")
        state = {"rows": rows, "status": status, "older": older}
        known = {**(histories.answers(rows) if rows else {}), **answers}
        self.page.evaluate("([state, answers]) => begin(state, answers)", [state, known])

    def set(self, **changes: object) -> None:
        """The kernel tells something new."""
        self.page.evaluate("changes => model.set(changes)", changes)

    def answer(self, op: str, answer: object) -> None:
        """The kernel answers the last `op` that it was asked for."""
        last = "model.asked.findLast(each => each.op === op)"
        self.page.evaluate(f"([op, answer]) => model.answer({last}, answer)", [op, answer])

    @property
    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        """What the kernel was asked to do: op and arguments."""
        asked = self.page.evaluate("model.asked")
        return [(each["op"], each["args"]) for each in asked]

    @property
    def written(self) -> list[tuple[str, dict[str, Any]]]:
        """What the kernel was asked to change."""
        return [each for each in self.asked if each[0] not in ("details", "diff")]

    def part(self, name: str) -> Locator:
        return self.page.locator(f".nbckpt-Timeline-{name}")

    def row(self, identity: str) -> Locator:
        return self.page.locator(f".nbckpt-Timeline-row[data-id={identity}]")

    def choose(self, verb: str) -> None:
        """Take `verb` out of the menu behind the buttons of what is looked at."""
        self.page.get_by_role("button", name="More actions").click()
        self.page.get_by_role("menuitem", name=verb).click()

    @property
    def names(self) -> list[str]:
        """Names of the rows on the page, from the top."""
        return self.page.evaluate(
            """[...document.querySelectorAll('.nbckpt-Timeline-row')]
               .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
               .map(row => row.dataset.name)"""
        )

    @property
    def selected(self) -> list[str]:
        return self.page.eval_on_selector_all(
            "[role=option][aria-selected=true]", "rows => rows.map(row => row.dataset.id)"
        )

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture(scope="package")
def bundle() -> str:
    """The widget, built from what is there now."""
    refusal = build(ROOT / "labextension", ROOT)
    assert not refusal, f"{refusal}; the tests of the widget need it"
    return (ROOT / BUILT).read_text(encoding="utf-8")


# Of the package, not of the session: while Playwright runs, no other test may have an event loop.
@pytest.fixture(scope="package")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with browser(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture
def open_page(context: BrowserContext, bundle: str) -> Iterator[Callable[..., Timeline]]:
    """Opens pages; nothing may be left in their consoles."""
    pages: list[Page] = []
    said: list[str] = []

    def open_one(width: int = 900, theme: str = "light") -> Timeline:
        page = context.new_page()
        pages.append(page)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.set_viewport_size({"width": width, "height": 900})
        page.route("**/*", lambda route: serve(route, bundle, theme))
        page.goto("http://timeline.test/")
        page.wait_for_selector("body[data-ready]", state="attached")
        return Timeline(page)

    yield open_one
    for page in pages:
        page.close()
    assert said == []


@pytest.fixture
def timeline(open_page: Callable[..., Timeline]) -> Timeline:
    """An empty page that a timeline can `begin` on."""
    return open_page()


def serve(route: Route, bundle: str, theme: str) -> None:
    """Answer from here: the page is on no server."""
    files = {
        "/timeline.js": ("text/javascript", bundle),
        "/page.js": ("text/javascript", (Path(__file__).parent / "page.js").read_text()),
        "/theme.css": ("text/css", colours(theme)),
    }
    kind, body = files.get("/" + route.request.url.rpartition("/")[2], ("text/html", HTML))
    headers = {"Content-Type": kind, "Content-Security-Policy": POLICY}
    route.fulfill(body=body, headers=headers)


def colours(theme: str) -> str:
    """JupyterLab's own style sheet of `theme`; nothing where no host has a say."""
    if not theme:
        return ""
    name = f"share/jupyter/lab/themes/@jupyterlab/theme-{theme}-extension/index.css"
    return (Path(sys.prefix) / name).read_text(encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Node there is no widget to look at; only who says so may go without."""
    import os

    if os.environ.get("NBCKPT_NO_NODE") and not shutil.which("node"):
        here = str(Path(__file__).parent)
        for item in items:
            if str(item.path).startswith(here):
                item.add_marker(pytest.mark.skip(reason="NBCKPT_NO_NODE is set"))
