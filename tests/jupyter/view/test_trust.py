"""What somebody else made, in the timeline: marked, told, and trusted after a question only."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.jupyter.view import histories
from tests.jupyter.view.conftest import Timeline

STRANGERS = {
    "checkpoints": 2,
    "seen": "ab12",
    "text": "by mallory@there\nfunctions <script>document.title='broken'</script>",
    "meaning": "Trusting it lets it run as your own code.",
}


def rows(*, trusted: bool) -> list[histories.Row]:
    """Three checkpoints, of which the first two are somebody's."""
    made = [histories.row("s1", None, "load"), histories.row("s2", "s1", "train")]
    return [
        *({**row, "trusted": trusted} for row in made),
        histories.row("s3", "s2", "own", heads=["main"], trusted=True),
    ]


def begin(timeline: Timeline, **answers: object) -> None:
    trusted = {"text": "trusted: 2 checkpoints", "status": histories.status("s3")}
    given: dict[str, Any] = {"strangers": STRANGERS, "trust": trusted, **answers}
    timeline.begin(rows(trusted=False), histories.status("s3"), **given)


@pytest.mark.slow
def test_what_somebody_else_made_is_marked_and_counted(timeline: Timeline) -> None:
    begin(timeline)

    expect(timeline.part("strangers")).to_contain_text(
        "2 checkpoints here are not known to be yours"
    )
    expect(timeline.row("s1")).to_contain_text("not trusted")
    expect(timeline.row("s3")).not_to_contain_text("not trusted")
    assert "not trusted" in (timeline.row("s2").get_attribute("aria-label") or "")


@pytest.mark.slow
def test_nothing_is_trusted_before_the_dialog_says_so(timeline: Timeline) -> None:
    begin(timeline)

    timeline.part("trust").click()
    dialog = timeline.page.get_by_role("alertdialog")
    expect(dialog).to_contain_text("mallory@there")
    expect(dialog).to_contain_text("run as your own code")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    timeline.keys("Escape")
    expect(dialog).to_have_count(0)
    assert [op for op, _ in timeline.written] == ["strangers"]

    timeline.part("trust").click()
    dialog.get_by_role("button", name="Trust").click()
    expect(timeline.part("notice")).to_contain_text("trusted: 2 checkpoints")
    expect(dialog).to_have_count(0)
    assert timeline.written[-1] == ("trust", {"seen": "ab12"})
    timeline.set(rows=rows(trusted=True))
    expect(timeline.part("strangers")).to_be_hidden()
    assert timeline.page.title() == "timeline"


@pytest.mark.slow
def test_a_refused_trust_is_told_and_can_be_asked_for_again(timeline: Timeline) -> None:
    begin(timeline, trust="the disk is full")

    timeline.part("trust").click()
    timeline.page.get_by_role("alertdialog").get_by_role("button", name="Trust").click()

    expect(timeline.part("notice")).to_contain_text("the disk is full")
    expect(timeline.page.get_by_role("alertdialog")).to_be_visible()


@pytest.mark.slow
def test_details_say_which_variables_need_trust(timeline: Timeline) -> None:
    details = histories.details(rows(trusted=False)[0])
    details["variables"][0]["trusted"] = False
    begin(timeline, details=details)

    timeline.row("s1").click()

    line = timeline.part("line").filter(has_text="model")
    expect(line.locator(".nbckpt-is-untrusted")).to_have_text("needs trust")
    expect(line.locator(".nbckpt-is-untrusted")).to_have_attribute(
        "title", "Made by another user, or elsewhere: it comes back when it is trusted"
    )
    expect(timeline.part("line").filter(has_text="scores")).not_to_contain_text("needs trust")


def test_a_list_of_ones_own_has_no_banner(timeline: Timeline) -> None:
    timeline.begin()

    expect(timeline.part("list")).to_be_visible()
    expect(timeline.part("strangers")).to_be_hidden()
