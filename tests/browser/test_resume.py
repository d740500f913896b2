"""Resuming in a new kernel, after real deaths of real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Response, expect

from tests.browser.applications import Application
from tests.browser.dying import LOG, Dying, click, offer, told

PLUGIN = "nbckpt:plugin"
lab_only = pytest.mark.parametrize("application", ["lab"], indirect=True)


@pytest.fixture
def dying(application: Application, context: BrowserContext) -> Iterator[Dying]:
    dying = Dying(application, context)
    yield dying
    dying.close()


def test_two_clicks_after_a_kill_the_notebook_has_run_to_its_end(
    dying: Dying, pictures: Callable[[str], Path]
) -> None:
    page, name = dying.page, dying.application.name
    dying.pace(0.4)
    dying.run_all()
    dying.wait(lambda: dying.did()["3"] == 1)
    dying.kill()
    dying.pace(0)
    expect(dying.offer).to_contain_text("Resume from 'load'", timeout=30_000)
    expect(dying.dialog).to_have_count(0)
    page.wait_for_timeout(500)  # it moves in
    page.screenshot(path=pictures(f"resume-offer-{name}"))

    click(page, "Resume and run the rest")
    expect(dying.dialog).to_contain_text("stopped at 3 of 6")
    page.screenshot(path=pictures(f"resume-dialog-{name}"))
    dying.dialog.locator(".jp-mod-accept").last.click()

    dying.last.get_by_text("model 30").wait_for()
    did = dying.did()
    assert [did[part] for part in ("load", "0", "1", "2", "4", "5", "train")] == [1] * 7
    assert did["3"] <= 2, "the item that it died in, and no other"


@lab_only
def test_nothing_is_loaded_before_a_click_and_nothing_run_by_it(dying: Dying) -> None:
    dying.run_to_the_end()
    did = dying.did()

    dying.restart()
    expect(dying.offer).to_contain_text("Resume from 'train'")
    untouched = "'nbckpt' in __import__('sys').modules, 'model' in globals()"
    assert dying.printed(untouched) == "False False"
    click(dying.page, "Resume")

    expect(told(dying.page)).to_contain_text("'train'")
    assert dying.printed("model, vectors[-1]") == "30 10"
    assert dying.did() == did


@lab_only
def test_a_cell_that_was_edited_since_runs_if_it_is_chosen(dying: Dying) -> None:
    dying.run_to_the_end()
    dying.edit(3, f"%%checkpoint train\n{LOG.format('train')}\nmodel = sum(vectors) + 3")
    dying.restart()
    click(dying.page, "Resume and run the rest")
    head = dying.dialog.get_by_role("status")
    expect(head).to_contain_text("Then 1 cell runs.")

    dying.dialog.get_by_label("Run it as it is now").check()
    expect(head).to_contain_text("Then 2 cells run, in order.")
    dying.dialog.locator(".jp-mod-accept").last.click()

    dying.last.get_by_text("model 33").wait_for()
    did = dying.did()
    assert (did["load"], did["train"]) == (1, 2)


@lab_only
def test_one_of_two_windows_resumes_and_the_other_takes_its_offer_back(dying: Dying) -> None:
    dying.run_to_the_end()
    other = dying.window()
    expect(other.locator(".nbckpt-StatusItem")).to_contain_text("train")
    other.wait_for_timeout(300)
    dying.kill()
    expect(offer(other)).to_be_visible(timeout=30_000)
    expect(dying.offer).to_be_visible()

    click(other, "Resume")

    expect(told(other)).to_contain_text("'train'")
    dying.page.bring_to_front()  # a page behind another moves nothing out of sight
    expect(dying.offer).to_have_count(0)
    other.close()
    assert dying.printed("model") == "30"


def remembers(response: Response) -> bool:
    """True if JupyterLab has written down what a resume would bring back."""
    request = response.request
    is_state = request.method == "PUT" and "/api/workspaces/" in request.url
    known = (request.post_data or "").replace("\\", "").partition("nbckpt:resume:")[2]
    return is_state and '"name":"load"' in known.replace(" ", "")


@lab_only
def test_a_notebook_that_is_opened_again_is_resumed_by_itself_if_the_user_wants_that(
    dying: Dying,
) -> None:
    dying.run(0)
    with dying.page.expect_response(remembers):
        dying.run(1)
    choices = {"offerResume": "always", "afterResume": "run", "side": "right"}
    dying.application.settings(PLUGIN, **choices)
    address = dying.page.url
    try:
        dying.shut_down()
        dying.save()
        dying.page.reload()  # a second window has a workspace of its own, which remembers nothing

        dying.page.locator(".jp-OutputArea-output").get_by_text("model 30").wait_for()
        other = dying.page.context.new_page()  # the layout of the first is restored as it was
        other.goto(address)
        side = other.locator(".jp-SideBar.jp-mod-right [title=Checkpoints]")
        expect(side).to_be_visible(timeout=60_000)
        other.close()
    finally:
        dying.application.settings(PLUGIN)
    assert dying.did()["load"] == dying.did()["train"] == 1
