"""Pictures of the timeline in both applications and both themes, to be looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.notebooks import Notebook

STORY = (
    "%%checkpoint load --tag raw\nimport random\nrandom.seed(7)\n"
    "rows = [random.gauss(0, 1) for _ in range(2000)]\nprint(len(rows), 'rows')",
    "%%checkpoint clean --note 'without outliers'\nkept = [r for r in rows if abs(r) < 2]",
    "%%checkpoint fit\nmodel = {'mean': sum(kept) / len(kept), 'n': len(kept)}\nmodel",
    "%fork clean strict kept=[r for r in rows if abs(r) < 1]",
    "%rerun clean",
    "%switch main",
    "%%checkpoint report\nprint('mean %.3f of %d' % (model['mean'], model['n']))",
    "%%checkpoint broken\nmodel['sd']",
)


def take(notebook: Notebook, path: Path) -> None:
    notebook.root.scroll_into_view_if_needed()
    notebook.root.screenshot(path=path)
    assert path.stat().st_size > 5_000


@pytest.fixture(scope="module")
def told(page: Notebook) -> Notebook:
    """A notebook with two branches, a tag, a note, and a cell that failed."""
    page.begin(*STORY)
    return page


@pytest.fixture
def story(told: Notebook, notebook: Notebook) -> Notebook:
    assert told is notebook
    expect(notebook.row("report")).to_be_visible()
    return notebook


def test_both_themes(story: Notebook, pictures: Callable[[str], Path]) -> None:
    name = story.application.name
    backgrounds = set()
    for theme in ("Light", "Dark"):
        story.theme(theme)
        story.row("fit").click()
        expect(story.part("details")).to_contain_text("mean")
        take(story, pictures(f"{name}-{theme.lower()}-details"))
        backgrounds.add(story.root.evaluate("e => getComputedStyle(e).color"))
        story.row("clean").click(modifiers=["Shift"])
        expect(story.part("comparison")).to_contain_text("model")
        take(story, pictures(f"{name}-{theme.lower()}-comparison"))
        story.row("clean").click()
        story.verb("fork").click()
        take(story, pictures(f"{name}-{theme.lower()}-fork"))
        story.page.keyboard.press("Escape")
        story.page.screenshot(path=pictures(f"{name}-{theme.lower()}-page"))
    story.theme("Light")

    assert len(backgrounds) == 2


def test_a_narrow_page(story: Notebook, pictures: Callable[[str], Path]) -> None:
    story.page.set_viewport_size({"width": 620, "height": 900})
    story.row("fit").click()
    take(story, pictures(f"{story.application.name}-narrow"))
    overflow = story.root.evaluate("e => e.scrollWidth - e.clientWidth")
    story.page.set_viewport_size({"width": 1300, "height": 900})

    assert overflow <= 1
