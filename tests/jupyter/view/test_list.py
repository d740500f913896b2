"""The list of checkpoints: what it shows, how it is filtered, moved in and kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import pytest
from playwright.sync_api import expect

from tests.jupyter.view import histories
from tests.jupyter.view.conftest import Timeline
from tests.jupyter.view.histories import row, status


@pytest.mark.slow
def test_the_newest_stands_on_top_and_the_position_is_marked(timeline: Timeline) -> None:
    timeline.begin()

    assert timeline.names[0] == "summaries"
    assert timeline.names[-1] == "load"
    here = timeline.page.locator(".nbckpt-is-position")
    expect(here).to_have_attribute("data-id", "a6")
    expect(here).to_contain_text("here")
    expect(here.locator(".nbckpt-Timeline-ring")).to_have_count(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("identity", "word"),
    [("a7", "31 of 50"), ("c2", "failed"), ("a3", "auto"), ("c1", "forked"), ("d1", "updated")],
)
def test_a_state_is_told_in_words_too(timeline: Timeline, identity: str, word: str) -> None:
    timeline.begin()

    expect(timeline.row(identity)).to_contain_text(word)
    assert word in (timeline.row(identity).get_attribute("aria-label") or "")


@pytest.mark.slow
def test_a_row_tells_branch_tags_note_and_figures(timeline: Timeline) -> None:
    timeline.begin()

    expect(timeline.row("b2")).to_contain_text("try-2")
    expect(timeline.row("a6")).to_contain_text("#best")
    expect(timeline.row("b1")).to_contain_text("smaller chunks, other model")
    expect(timeline.row("b1").locator(".nbckpt-Timeline-figures")).to_have_text(
        "1 d2 min 6 s4.1 MB$0.42"
    )


@pytest.mark.slow
def test_a_name_with_a_tag_in_it_is_text(timeline: Timeline) -> None:
    timeline.begin()

    expect(timeline.row("a6").locator(".nbckpt-Timeline-name")).to_have_text(
        "evaluate <script>alert(1)</script>"
    )
    assert timeline.page.locator("#host script").count() == 0


@pytest.mark.slow
def test_a_filter_leaves_what_matches(timeline: Timeline) -> None:
    timeline.begin()

    timeline.page.locator("input[name=filter]").fill("branch:try embed")

    assert timeline.names == ["embed"]
    expect(timeline.part("count")).to_have_text("1 of 12 checkpoints")
    timeline.page.locator("input[name=filter]").fill("nothing like it")
    expect(timeline.part("empty")).to_have_text("No checkpoint matches the filter.")
    timeline.page.locator("input[name=filter]").press("Escape")
    assert len(timeline.names) == 12


@pytest.mark.slow
def test_automatic_checkpoints_are_left_out_on_demand(timeline: Timeline) -> None:
    timeline.begin()

    timeline.page.locator("input[name=automatic]").uncheck()

    assert "cell-7f3a" not in timeline.names
    assert len(timeline.names) == 11


def test_an_empty_history_says_how_to_begin(timeline: Timeline) -> None:
    timeline.begin([], status(None))

    expect(timeline.part("empty")).to_contain_text("%%checkpoint")
    timeline.set(rows=[row("a", None, "first")], status=status("a"))
    expect(timeline.row("a")).to_be_visible()
    expect(timeline.part("empty")).to_be_hidden()


@pytest.mark.slow
def test_how_many_are_not_listed_is_told(timeline: Timeline) -> None:
    timeline.begin([row("b", "a", "later")], status("b"), older=7)

    expect(timeline.part("count")).to_have_text("1 checkpoint · 7 older")
    expect(timeline.row("b").locator(".nbckpt-is-skipping")).to_have_count(1)


@pytest.mark.slow
def test_the_running_cell_is_shown_with_its_time_and_items(timeline: Timeline) -> None:
    busy = {"name": "embed", "began_at": time.time() - 65, "done": 3, "total": 9}
    timeline.begin(status=status("a6", busy=busy))

    expect(timeline.part("busy")).to_contain_text("running embed")
    expect(timeline.part("busy")).to_contain_text("3 / 9")
    before = timeline.part("busyTime").inner_text()
    assert before.startswith("1 min")
    expect(timeline.part("busyTime")).not_to_have_text(before)
    timeline.set(status=status("a6", busy={**busy, "name": "", "total": -1}))
    expect(timeline.part("busy")).to_contain_text("running a cell")
    expect(timeline.part("busyCount")).to_have_text("3")
    timeline.set(status=status("a6"))
    expect(timeline.part("busy")).to_be_hidden()


@pytest.mark.slow
def test_ages_are_by_the_clock_of_the_kernel(timeline: Timeline) -> None:
    now = time.time()
    rows = [row("a", None, "first", created_at=now - 7200)]
    # A reloaded page finds what the kernel said an hour ago.
    timeline.begin(rows, status("a", now=now - 3600))
    expect(timeline.row("a").locator(".nbckpt-Timeline-age")).to_have_text("2 h")

    timeline.set(status=status("a", now=now - 3600 + 1))

    expect(timeline.row("a").locator(".nbckpt-Timeline-age")).to_have_text("1 h")
    timeline.set(rows=[*rows, row("b", "a", "second", created_at=now - 3600 - 300)])
    expect(timeline.row("b").locator(".nbckpt-Timeline-age")).to_have_text("5 min")


@pytest.mark.slow
def test_arrows_pages_and_ends_move_the_selection(timeline: Timeline) -> None:
    timeline.begin(histories.large(300), status("x000299"))
    timeline.part("list").focus()

    timeline.keys("ArrowDown", "ArrowDown", "ArrowUp")
    assert timeline.selected == ["x000298"]
    timeline.keys("End")
    assert timeline.selected == ["x000000"]
    expect(timeline.row("x000000")).to_be_in_viewport()
    timeline.keys("PageUp")
    assert timeline.selected[0] > "x000005"
    timeline.keys("Home")
    assert timeline.selected == ["x000299"]


@pytest.mark.slow
def test_the_listbox_points_at_its_active_option(timeline: Timeline) -> None:
    timeline.begin(histories.large(300), status("x000299"))
    timeline.part("list").focus()
    timeline.keys("ArrowDown")

    timeline.page.evaluate("document.querySelector('.nbckpt-Timeline-list').scrollTop = 4000")
    pointed = timeline.part("list").get_attribute("aria-activedescendant")

    active = timeline.page.locator(f"[id='{pointed}']")
    expect(active).to_have_attribute("data-id", "x000298")
    expect(active).to_have_attribute("aria-posinset", "2")
    expect(active).to_have_attribute("aria-setsize", "300")


@pytest.mark.slow
def test_rows_stand_in_the_page_as_they_do_on_the_screen(timeline: Timeline) -> None:
    rows = histories.large(300)
    timeline.begin(rows, status("x000299"))
    in_page = "[...document.querySelectorAll('.nbckpt-Timeline-row')].map(row => row.dataset.name)"

    timeline.set(rows=[*rows, row("new", "x000010", "new")])
    expect(timeline.row("new")).to_be_visible()
    assert timeline.page.evaluate(in_page) == timeline.names
    for top in (3000, 2900, 5000, 100):
        timeline.page.evaluate(f"document.querySelector('[role=listbox]').scrollTop = {top}")
        timeline.page.wait_for_timeout(50)
        assert timeline.page.evaluate(in_page) == timeline.names


@pytest.mark.slow
def test_the_host_leaves_keys_to_all_that_can_have_the_focus(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("a5").click()
    expect(timeline.part("details")).to_be_visible()
    timeline.part("fork").click()

    without = timeline.page.locator(
        ":is(button, input, summary, [tabindex]):not([data-lm-suppress-shortcuts=true])"
    )
    expect(without).to_have_count(0)


@pytest.mark.slow
def test_new_checkpoints_leave_selection_place_and_focus(timeline: Timeline) -> None:
    rows = histories.large(300)
    timeline.begin(rows, status("x000299"))
    timeline.part("list").focus()
    timeline.keys("ArrowDown")
    timeline.page.evaluate("document.querySelector('.nbckpt-Timeline-list').scrollTop = 3000")
    timeline.row("x000180").wait_for()
    top = timeline.row("x000180").evaluate("row => row.getBoundingClientRect().top")

    timeline.set(rows=[*rows, row("new", "x000299", "new")], status=status("new"))

    expect(timeline.page.locator(".nbckpt-is-position")).to_have_count(0)
    assert timeline.row("x000180").evaluate("row => row.getBoundingClientRect().top") == top
    assert timeline.selected == ["x000298"]
    assert timeline.page.evaluate("document.activeElement.getAttribute('role')") == "listbox"
    timeline.keys("Home")
    expect(timeline.row("new")).to_contain_text("here")


@pytest.mark.slow
def test_ten_thousand_checkpoints_scroll_with_forty_in_the_page(timeline: Timeline) -> None:
    timeline.begin(histories.large(10_000), status("x009999"))
    scroll = """() => {
      const list = document.querySelector('.nbckpt-Timeline-list');
      const times = [];
      for (let frame = 0; frame < 200; frame++) {
        const began = performance.now();
        list.scrollTop = frame * 84;
        list.dispatchEvent(new Event('scroll'));
        list.getBoundingClientRect();
        times.push(performance.now() - began);
      }
      return times;
    }"""

    times = timeline.page.evaluate(scroll)

    # The median: the machine may be busy with something else now and then.
    assert median(times) < 8, "half a frame, for three rows a frame"
    assert timeline.part("row").count() <= 40


@pytest.mark.slow
@pytest.mark.parametrize("width", [300, 420, 640, 900])
def test_nothing_sticks_out_at_any_width(open_page: Callable[..., Timeline], width: int) -> None:
    timeline = open_page(width)
    timeline.begin()
    sticks_out = """() => [...document.querySelectorAll('#host *')].filter(each =>
      each.getBoundingClientRect().right > innerWidth + 0.5 && !each.closest(
        '.nbckpt-Timeline-text, .nbckpt-Timeline-spoken')).map(each => each.className)"""

    assert timeline.page.evaluate(sticks_out) == []
    timeline.row("a5").click()
    expect(timeline.part("details")).to_be_visible()
    timeline.part("fork").click()
    assert timeline.page.evaluate(sticks_out) == []
    timeline.row("a7").click(modifiers=["Control"])
    expect(timeline.part("comparison")).to_be_visible()
    assert timeline.page.evaluate(sticks_out) == []


@pytest.mark.slow
def test_a_timeline_that_is_closed_leaves_nothing(timeline: Timeline) -> None:
    timeline.begin()

    timeline.page.evaluate("end()")

    assert timeline.page.evaluate("document.getElementById('host').childElementCount") == 0
    listeners = "[...model.listeners.values()].flat().length"
    assert timeline.page.evaluate(listeners) == 0
