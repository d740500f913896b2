"""Real applications in a real browser; one of each for all tests here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.applications import Application
from tests.browser.chromium import browser
from tests.browser.marked import Marked
from tests.browser.notebooks import Notebook


# Of the package, not of the session: while Playwright runs, no other test may have an event loop.
@pytest.fixture(scope="package")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with browser(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture(
    scope="package", params=["lab", pytest.param("notebook", marks=pytest.mark.exhaustive)]
)
def application(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    with Application(request.param, tmp_path_factory.mktemp(request.param)) as application:
        yield application


@pytest.fixture(scope="package")
def page(application: Application, context: BrowserContext) -> Iterator[Notebook]:
    """A notebook with its kernel: to open one takes longer than most tests."""
    page = context.new_page()
    yield Notebook(application, page, "history")
    page.close()


@pytest.fixture
def notebook(page: Notebook, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    """The application's notebook; no test may leave an error in its console."""
    page.errors.clear()
    page.page.evaluate("delete window.planted")
    yield page
    page.close_dialogs()  # of a test that failed: it is not to cost the others
    page.sidebar.clear_filter()
    assert page.own_errors == []


@pytest.fixture
def variables_only(notebook: Notebook) -> Iterator[None]:
    """A rewind leaves the cells as they are, and does not ask."""
    marked = Marked(notebook)
    marked.choose("rewindPage", "never")
    yield
    marked.choose("rewindPage", "ask")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where a screenshot of this name goes: a new folder, or ``NBCKPT_SCREENSHOTS``."""
    import os

    given = os.environ.get("NBCKPT_SCREENSHOTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return lambda name: folder / f"{name}.png"
