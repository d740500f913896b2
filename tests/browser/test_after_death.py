"""After a kernel's death the panel keeps all that it knew, and leads on; no cell has to run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.browser.applications import Application
from tests.browser.dying import Dying
from tests.browser.notebooks import READY


@pytest.fixture
def dying(application: Application, context: BrowserContext) -> Iterator[Dying]:
    dying = Dying(application, context)
    dying.sidebar.open()
    yield dying
    dying.close()


def card(dying: Dying) -> Locator:
    """What the panel says of the kernel that is gone."""
    return dying.sidebar.ended


def marks(dying: Dying) -> list[str | None]:
    """The marks at the cells."""
    states: list[str | None] = dying.page.locator(".jp-CodeCell").evaluate_all(
        "cells => cells.map(cell => cell.dataset.nbckpt ?? null)"
    )
    return states


def die_in_the_loop(dying: Dying) -> None:
    dying.pace(0.5)
    dying.run_all()
    dying.wait(lambda: dying.did()["3"] == 1)
    dying.kill()
    dying.pace(0)


def test_the_list_stays_and_says_what_happened(
    dying: Dying, pictures: Callable[[str], Path]
) -> None:
    die_in_the_loop(dying)

    told = card(dying)
    expect(told).to_contain_text("The kernel died just now, while embed ran", timeout=30_000)
    expect(told).to_contain_text("embed: ")
    expect(told).to_contain_text("of 6")
    expect(told).to_contain_text("Resume from 'load'")
    assert set(dying.sidebar.names()) == {"embed", "load"}
    expect(dying.sidebar.here).to_have_count(1)
    assert marks(dying)[1] == "checkpointed"
    dying.page.wait_for_timeout(500)
    name = dying.application.name
    dying.page.screenshot(path=pictures(f"after-death-{name}"))

    toast = dying.offer.get_by_role("button", name="Close")
    if toast.count():
        toast.click()
    expect(told).to_be_visible()
    told.get_by_role("button", name="Resume and run the rest").click()
    dying.dialog.locator(".jp-mod-accept").last.click()

    dying.last.get_by_text("model 30").wait_for()
    expect(told).to_have_count(0)
    assert dying.did()["load"] == 1


def test_resume_needs_neither_toast_nor_cell(dying: Dying) -> None:
    dying.run_to_the_end()
    dying.restart()

    told = card(dying)
    expect(told).to_contain_text("The kernel was restarted just now")
    expect(dying.sidebar.here).to_have_attribute("data-name", "train")
    told.get_by_role("button", name="Resume", exact=True).click()

    expect(told).to_have_count(0)
    expect(dying.sidebar.here).to_have_attribute("data-name", "train")
    assert dying.printed("model") == "30"


def test_a_row_can_be_rewound_to_in_the_new_kernel(dying: Dying) -> None:
    dying.run_to_the_end()
    dying.restart()
    expect(card(dying)).to_be_visible()

    dying.sidebar.row("load").click()
    expect(dying.sidebar.part("body")).to_contain_text(re.compile("resume, or begin|starting"))
    dying.sidebar.verb("rewind").click()

    expect(dying.sidebar.here).to_have_attribute("data-name", "load")
    expect(card(dying)).to_have_count(0)
    assert dying.printed("'model' in globals(), len(docs)") == "False 6"


def test_who_begins_anew_is_offered_the_old_until_a_checkpoint_is_made(dying: Dying) -> None:
    dying.run_to_the_end()
    dying.restart()

    card(dying).get_by_role("button", name="Begin anew").click()

    expect(dying.sidebar.row("train")).to_be_visible()
    expect(card(dying)).to_contain_text("Resume from 'train'")
    expect(card(dying).get_by_role("button", name="Begin anew")).to_have_count(0)
    dying.run(1)
    expect(card(dying)).to_have_count(0)


def test_the_card_can_be_dismissed(dying: Dying) -> None:
    dying.run_to_the_end()
    dying.restart()

    card(dying).get_by_role("button", name="Dismiss").click()
    expect(card(dying)).to_have_count(0)
    expect(dying.sidebar.remedy("enable")).to_be_visible()
    dying.sidebar.enable()
    expect(dying.sidebar.row("train")).to_be_visible()
    expect(card(dying)).to_have_count(0)


def test_a_kernel_that_was_unloaded_by_hand_is_no_death(dying: Dying) -> None:
    dying.run_to_the_end()
    dying.edit(4, "%unload_ext nbckpt")
    dying.run(4)

    expect(dying.sidebar.remedy("enable")).to_be_visible()
    expect(card(dying)).to_have_count(0)


@pytest.mark.parametrize("application", ["lab"], indirect=True)  # Notebook 7 keeps no state
def test_a_page_that_is_loaded_after_it_shows_the_same(dying: Dying) -> None:
    dying.run_to_the_end()
    dying.save()
    dying.page.wait_for_timeout(1500)  # JupyterLab writes down its state
    dying.shut_down()
    expect(card(dying)).to_contain_text("The notebook has no kernel now.")
    expect(dying.sidebar.row("train")).to_be_visible()
    dying.page.reload()
    dying.page.wait_for_function(READY, timeout=60_000)
    dying.sidebar.open()  # Notebook 7 does not open it again

    expect(card(dying)).to_contain_text("This notebook has a new kernel", timeout=60_000)
    expect(dying.sidebar.here).to_have_attribute("data-name", "train")
    card(dying).get_by_role("button", name="Resume", exact=True).click()
    expect(card(dying)).to_have_count(0)
    assert dying.printed("model") == "30"
