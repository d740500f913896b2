"""The page of a variable: what it shows, and what its buttons ask the kernel for."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.jupyter.view.conftest import Timeline

pytestmark = pytest.mark.slow


def opened(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("a5").click()
    timeline.page.get_by_role("button", name="model", exact=True).click()


def test_a_click_on_a_name_shows_its_steps(timeline: Timeline) -> None:
    opened(timeline)

    page = timeline.part("variablePage")
    expect(page).to_contain_text("3 steps changed it")
    expect(page).to_contain_text("and 1 older step")
    expect(page.get_by_role("img", name="value, from 3 to 5")).to_be_visible()
    expect(page).to_contain_text("<script>3</script>")
    expect(page.locator("td")).to_have_text("<b>1</b>")
    assert timeline.page.locator("#host script").count() == 0
    assert timeline.asked[-1] == ("history", {"variable": "model", "at": "a5"})


def test_a_value_is_brought_back_and_the_history_asked_anew(timeline: Timeline) -> None:
    opened(timeline)

    timeline.part("restore").last.click()

    expect(timeline.part("notice")).to_contain_text("model is as it was")
    assert timeline.written[-2:] == [
        ("restore", {"variable": "model", "ref": "a1"}),
        ("history", {"variable": "model", "at": "a5"}),
    ]


def test_what_the_kernel_cannot_tell_is_said_in_place(timeline: Timeline) -> None:
    timeline.begin(history="no step of this line has changed a variable 'k'")
    timeline.row("a5").click()
    timeline.page.get_by_role("button", name="model", exact=True).click()

    expect(timeline.part("error")).to_have_text("no step of this line has changed a variable 'k'")
    timeline.row("a4").click()
    expect(timeline.part("details")).to_be_visible()


def test_another_selection_leaves_it(timeline: Timeline) -> None:
    opened(timeline)
    expect(timeline.part("variablePage")).to_be_visible()

    timeline.row("a4").click()

    expect(timeline.part("variablePage")).to_have_count(0)
    expect(timeline.part("details")).to_be_visible()
