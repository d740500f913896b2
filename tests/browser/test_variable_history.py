"""A click on a variable's name: its steps, in numbers; two of them compared, one brought back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.notebooks import Notebook


@pytest.fixture
def history(notebook: Notebook, variables_only: None) -> Iterator[Locator]:
    """The page of `df`, opened by a click in the details of the newest checkpoint."""
    notebook.sidebar.open()
    notebook.load(
        "%%checkpoint load\nimport numpy as np\nimport pandas as pd\n"
        "df = pd.DataFrame({'x': np.arange(500.0), 'c': ['a', 'b'] * 250})\nlosses = [0.9]",
        "%%checkpoint clean\ndf = df[df.x < 400]\nlosses.append(0.5)",
        "%%checkpoint feature\ndf = df.assign(z=df.x * 2)\nlosses += [0.3, 0.2]",
        "%%checkpoint note\nkept = 'another variable'",
    )
    sidebar = notebook.sidebar
    sidebar.row("feature").click()
    sidebar.root.get_by_role("button", name="df", exact=True).click()
    page = sidebar.root.locator(".nbckpt-Timeline-variablePage")
    expect(page).to_be_visible()
    yield page
    notebook.page.keyboard.press("Escape")


def point(page: Locator, step: str) -> Locator:
    named = page.page.get_by_role("button", name=step, exact=True)
    return page.locator(".nbckpt-Timeline-point").filter(has=named)


def test_it_shows_each_step_that_changed_it(
    notebook: Notebook, history: Locator, pictures: Callable[[str], Path]
) -> None:
    points = history.locator(".nbckpt-Timeline-point")
    steps = points.locator(".nbckpt-Timeline-ofStep").all_inner_texts()
    assert steps == ["feature", "clean", "load"]
    expect(history.get_by_role("img", name="rows, from 500 to 400")).to_be_visible()
    expect(point(history, "clean")).to_contain_text("100 rows removed (500 → 400)")
    expect(point(history, "feature")).to_contain_text("means: x 199.5, z 399")
    expect(point(history, "feature")).to_contain_text("df = df.assign(z=df.x * 2)")
    head = point(history, "feature").locator("details")
    head.locator("summary").click()
    assert head.locator("th").all_inner_texts() == ["x", "c", "z"]
    for theme in ("Light", "Dark"):
        notebook.theme(theme)
        notebook.page.screenshot(path=pictures(f"variable-history-{theme.lower()}"))
    notebook.theme("Light")


def test_two_steps_are_compared(history: Locator) -> None:
    point(history, "load").get_by_role("button", name="Compare").click()
    pressed = point(history, "load").get_by_role("button", name="Compare")
    expect(pressed).to_have_attribute("aria-pressed", "true")
    point(history, "feature").get_by_role("button", name="Compare").click()

    compared = history.locator(".nbckpt-Timeline-compared")
    expect(compared).to_contain_text("load → feature")
    expect(compared).to_contain_text("1 column added")


def test_one_value_is_brought_back_and_that_is_undone(
    notebook: Notebook, history: Locator, pictures: Callable[[str], Path]
) -> None:
    point(history, "load").get_by_role("button", name="Bring this value back").click()

    notice = notebook.sidebar.part("notice")
    expect(notice).to_contain_text("df is as it was at 'load'")
    expect(history.locator(".nbckpt-Timeline-point")).to_have_count(4)
    expect(point(history, "note")).to_contain_text("given by hand")
    notebook.page.screenshot(path=pictures("variable-brought-back"))
    assert notebook.printed("df.shape, losses, kept") == (
        "(500, 2) [0.9, 0.5, 0.3, 0.2] another variable"
    )
    notice.get_by_role("button", name="Go back").click()
    expect(notebook.sidebar.here).to_have_attribute("data-name", "note")
    assert notebook.printed("df.shape") == "(400, 3)"


def test_back_leads_to_the_checkpoint_and_a_step_to_its_own(
    notebook: Notebook, history: Locator
) -> None:
    history.get_by_role("button", name="← Back").click()
    expect(history).to_have_count(0)
    expect(notebook.sidebar.part("details")).to_contain_text("losses += [0.3, 0.2]")

    notebook.sidebar.root.get_by_role("button", name="losses", exact=True).click()
    expect(history.get_by_role("img", name="mean, from 0.9 to 0.475")).to_be_visible()
    point(history, "clean").get_by_role("button", name="clean", exact=True).click()

    expect(notebook.sidebar.part("details")).to_contain_text("losses.append(0.5)")
