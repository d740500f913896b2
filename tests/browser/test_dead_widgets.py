"""What a kernel's widgets say and let be pressed once the kernel is gone, in both applications."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.applications import Application
from tests.browser.dying import Dying

CELLS = (
    "%load_ext nbckpt\nimport os\nopen('pid', 'w').write(str(os.getpid())) and None",
    "%%checkpoint first\nx = 1",
    "%%checkpoint second\ny = 2",
    "%timeline",
    "import nbckpt\nnbckpt.approve('tidy up?')",
)
GONE = "The kernel of this timeline is gone"


@pytest.fixture
def dying(application: Application, context: BrowserContext) -> Iterator[Dying]:
    dying = Dying(application, context, CELLS)
    for index in range(4):
        dying.run(index)
    dying.row("first").click()
    expect(dying.part("details")).to_contain_text("x = 1")
    yield dying
    dying.close()


def test_a_killed_kernels_timeline_can_be_read_and_does_nothing(
    dying: Dying, pictures: Callable[[str], Path]
) -> None:
    dying.kill()

    expect(dying.part("notice")).to_contain_text(GONE, timeout=30_000)
    expect(dying.part("notice").get_by_role("button")).to_have_count(0)
    expect(dying.part("buttons").get_by_role("button").first).to_be_disabled()
    dying.page.screenshot(path=pictures(f"dead-widget-{dying.application.name}"))
    dying.part("list").focus()
    dying.page.keyboard.press("Enter")
    expect(dying.part("form")).to_have_count(0)
    dying.row("second").click()
    expect(dying.part("body")).to_contain_text(GONE)
    expect(dying.part("buttons").get_by_role("button").first).to_be_disabled()


@pytest.mark.parametrize("way", ["restart", "shut_down"])
def test_a_kernel_that_is_ended_by_hand_is_as_gone(dying: Dying, way: str) -> None:
    getattr(dying, way)()

    expect(dying.part("notice")).to_contain_text(GONE)
    expect(dying.part("buttons").get_by_role("button").first).to_be_disabled()


def test_a_killed_kernels_question_says_where_it_is_answered(dying: Dying) -> None:
    dying.run(4, waits=False)
    card = dying.page.locator(".jp-OutputArea .nbckpt-Approval-card")
    expect(card.get_by_role("button", name="Approve")).to_be_enabled()

    dying.kill()

    expect(card).to_contain_text("The kernel of this cell is gone", timeout=30_000)
    expect(card.get_by_role("button", name="Approve")).to_be_disabled()
