"""What the buttons and keys do, and how the kernel's answers are shown."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.jupyter.view import histories
from tests.jupyter.view.conftest import Timeline
from tests.jupyter.view.histories import NOW, row, status


@pytest.mark.slow
def test_details_tell_variables_code_outputs_calls_and_what_is_not_kept(
    timeline: Timeline,
) -> None:
    timeline.begin()

    timeline.row("a5").click()

    details = timeline.part("details")
    for text in (
        "KMeans(n_clusters=5)", "list 10", "deleted: tmp", "3 more, not changed",
        "model = fit(df, k=k)", "10 scores", "2 model calls · $0.0042", "replayed",
        "an open socket cannot be kept", "import math", "evaluate, summaries",
    ):  # fmt: skip
        expect(details).to_contain_text(text)
    assert timeline.asked[-1] == ("details", {"ref": "a5"})


def test_a_repr_with_a_script_is_text_and_only_a_png_is_an_image(timeline: Timeline) -> None:
    timeline.begin()

    timeline.row("a5").click()

    expect(timeline.part("details")).to_contain_text('<script>document.title="broken"</script>')
    expect(timeline.page.locator("img")).to_have_count(1)
    assert timeline.page.locator("#host script").count() == 0
    assert timeline.page.title() == "timeline"


@pytest.mark.slow
def test_the_rewind_button_rewinds_and_offers_the_way_back(timeline: Timeline) -> None:
    timeline.begin()

    timeline.row("a4").click()
    timeline.part("rewind").click()

    expect(timeline.part("notice")).to_contain_text("rewound to 'embed'")
    timeline.part("goBack").click()
    assert timeline.written == [
        ("rewind", {"ref": "a4", "other_notebook": False}),
        ("rewind", {"ref": "-", "other_notebook": True}),
    ]


@pytest.mark.slow
def test_enter_asks_before_it_rewinds(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("a4").click()
    timeline.part("list").focus()

    timeline.keys("Enter")
    expect(timeline.part("form")).to_contain_text("Rewind to embed?")
    assert timeline.written == []
    timeline.keys("Enter")

    expect(timeline.part("notice")).to_contain_text("rewound")
    expect(timeline.part("form")).to_have_count(0)
    assert timeline.written == [("rewind", {"ref": "a4", "other_notebook": False})]
    expect(timeline.part("list")).to_be_focused()


@pytest.mark.slow
def test_a_running_verb_waits_for_the_cell_and_holds_the_buttons(timeline: Timeline) -> None:
    timeline.begin(rewind=None)
    timeline.row("a4").click()
    timeline.part("rewind").click()
    expect(timeline.part("notice")).to_contain_text("Rewind to embed …")
    expect(timeline.part("rewind")).to_be_disabled()

    timeline.set(status=status("a6", busy={"name": "train", "began_at": NOW}))
    expect(timeline.part("notice")).to_contain_text("waits for the running cell 'train'")
    timeline.page.evaluate(
        """{ const { id } = model.asked.find(each => each.op === 'rewind');
             model.tell('msg:custom', { id, waits: 'waits for a free kernel' }); }"""
    )
    expect(timeline.part("notice")).to_contain_text("waits for a free kernel")
    timeline.answer("rewind", {"text": "rewound at last"})

    expect(timeline.part("notice")).to_contain_text("rewound at last")
    expect(timeline.part("rewind")).to_be_enabled()
    expect(timeline.part("rewind")).to_be_focused()


@pytest.mark.slow
def test_who_does_not_want_to_wait_goes_on(timeline: Timeline) -> None:
    timeline.begin(rewind=None)
    timeline.row("a4").click()
    timeline.part("rewind").click()

    timeline.part("dismiss").click()

    expect(timeline.part("rewind")).to_be_enabled()
    expect(timeline.part("notice")).to_contain_text("the kernel may still do it")


@pytest.mark.slow
def test_the_fork_form_says_what_is_wrong_and_sends_what_is_right(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("a4").click()
    timeline.part("list").focus()
    timeline.keys("f")
    expect(timeline.page.locator("[name=branch]")).to_be_focused()

    timeline.page.locator("[name=branch]").fill("try-2")
    timeline.keys("Enter")
    expect(timeline.part("form").locator("[role=alert]")).to_contain_text("'try-2' already")
    assert timeline.written == []

    timeline.page.locator("[name=branch]").fill("try-3")
    timeline.page.locator("[name=variable]").fill("k")
    timeline.page.locator("[name=expression]").fill("k + 1")
    timeline.part("addRow").click()
    timeline.page.locator("[name=variable]").last.fill("seed")
    timeline.page.locator("[name=expression]").last.fill("7")
    timeline.part("addRow").click()
    timeline.part("removeRow").last.click()
    timeline.part("submit").click()

    expect(timeline.part("form")).to_have_count(0)
    values = {"k": "k + 1", "seed": "7"}
    assert timeline.written == [
        ("fork", {"ref": "a4", "branch": "try-3", "values": values, "other_notebook": False})
    ]


@pytest.mark.slow
def test_a_fork_that_the_kernel_refuses_keeps_what_was_typed(timeline: Timeline) -> None:
    timeline.begin(fork="NameError: name 'q' is not defined")
    timeline.row("a4").click()
    timeline.part("fork").click()
    timeline.page.locator("[name=variable]").fill("k")
    timeline.page.locator("[name=expression]").fill("q + 1")

    timeline.keys("Enter")

    expect(timeline.part("form").locator("[role=alert]")).to_contain_text("name 'q'")
    expect(timeline.part("notice")).to_have_text("")  # it stands once, where it was typed
    expect(timeline.page.locator("[name=expression]")).to_have_value("q + 1")
    timeline.keys("Escape")
    expect(timeline.part("form")).to_have_count(0)
    expect(timeline.part("list")).to_be_focused()


@pytest.mark.slow
def test_after_a_fork_the_new_checkpoint_is_selected(timeline: Timeline) -> None:
    rows = histories.small()
    there = {"text": "forked", "status": status("new", branch="try-3")}
    timeline.begin(rows, fork=there)
    timeline.row("a4").click()
    timeline.part("fork").click()
    timeline.part("submit").click()
    expect(timeline.part("notice")).to_contain_text("forked")

    timeline.set(
        rows=[*rows, row("new", "a4", "fork", made_by="fork")],
        status=status("new", branch="try-3"),
    )

    expect(timeline.row("new")).to_have_attribute("aria-selected", "true")


@pytest.mark.slow
def test_an_open_form_survives_what_happens_meanwhile(timeline: Timeline) -> None:
    rows = histories.small()
    timeline.begin(rows)
    timeline.row("a7").click()
    timeline.part("fork").click()
    timeline.page.locator("[name=expression]").fill("half typed")

    done = [*rows[:-1], {**rows[-1], "progress": [40, 50]}]
    timeline.set(rows=[*done, row("new", "a7", "new")], status=status("new"))
    expect(timeline.row("a7")).to_contain_text("40 of 50")

    expect(timeline.page.locator("[name=expression]")).to_be_focused()
    expect(timeline.page.locator("[name=expression]")).to_have_value("half typed")
    assert timeline.selected == ["a7"]


@pytest.mark.slow
def test_a_rerun_shows_its_cells_and_leads_to_them(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("a2").click()
    timeline.part("list").focus()
    timeline.keys("r")
    timeline.page.locator("[name=fresh]").check()
    timeline.part("submit").click()

    cells = timeline.part("cells")
    for text in ("Rerun on branch main.2", "skipped", "restored", "reads nothing that changed",
                 "failed", "ValueError: k", "not reached"):  # fmt: skip
        expect(cells).to_contain_text(text)
    assert timeline.written == [
        ("rerun", {"ref": "a2", "everything": False, "fresh": True, "other_notebook": False})
    ]
    cells.get_by_role("button", name="train").click()
    assert timeline.selected == ["a5"]
    expect(timeline.part("details")).to_be_visible()


@pytest.mark.slow
def test_two_that_are_selected_are_compared_the_older_first(timeline: Timeline) -> None:
    timeline.begin()

    timeline.row("a5").click()
    timeline.row("a1").click(modifiers=["Control"])

    comparison = timeline.part("comparison")
    for text in ("3 changed, 1 added, 1 removed", "1 row more, 2 cells changed", "<b>4.5</b>",
                 "Answer in one sentence.", "and 12 more", "14 variables are the same",
                 "k = 5"):  # fmt: skip
        expect(comparison).to_contain_text(text)
    assert timeline.asked[-1] == ("diff", {"a": "a1", "b": "a5"})


@pytest.mark.slow
def test_the_compare_button_lets_the_next_click_choose(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("a1").click()

    timeline.part("compare").click()
    expect(timeline.part("compare")).to_have_attribute("aria-pressed", "true")
    timeline.row("a5").click()

    expect(timeline.part("comparison")).to_be_visible()
    assert sorted(timeline.selected) == ["a1", "a5"]


@pytest.mark.slow
def test_keys_alone_compare_two(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("a7").click()
    timeline.part("list").focus()

    timeline.keys("Shift+ArrowDown", "Shift+ArrowDown", " ")

    expect(timeline.part("comparison")).to_be_visible()
    assert sorted(timeline.selected) == ["a7", "d1"]
    timeline.keys("Escape")
    assert timeline.selected == ["a7"]
    timeline.keys("Escape")
    expect(timeline.part("pane")).to_be_hidden()


@pytest.mark.slow
def test_tags_and_notes_are_given_and_taken(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("a6").click()

    timeline.choose("Tag")
    timeline.page.locator("[name=tag]").fill("two words")
    timeline.keys("Enter")
    expect(timeline.part("form").locator("[role=alert]")).to_have_text("A tag is one word.")
    timeline.page.locator("[name=tag]").fill("final")
    timeline.keys("Enter")
    expect(timeline.part("form")).to_have_count(0)
    timeline.part("untag").first.click()
    timeline.choose("Note")
    timeline.page.locator("[name=note]").fill("the one in the paper")
    timeline.keys("Enter")
    expect(timeline.part("notice")).to_contain_text("noted")

    assert timeline.written == [
        ("tag", {"ref": "a6", "tag": "final"}),
        ("untag", {"ref": "a6", "tag": "best"}),
        ("note", {"ref": "a6", "note": "the one in the paper"}),
    ]


@pytest.mark.slow
def test_the_head_of_another_branch_can_be_switched_to(timeline: Timeline) -> None:
    timeline.begin()
    timeline.row("b2").click()

    timeline.choose("Switch to")

    expect(timeline.part("notice")).to_contain_text("on branch 'try-2'")
    assert timeline.written == [("switch", {"branch": "try-2", "other_notebook": False})]


@pytest.mark.slow
def test_a_late_answer_does_not_replace_what_is_looked_at_now(timeline: Timeline) -> None:
    timeline.begin(details=None)
    timeline.row("a1").click()
    expect(timeline.part("loading")).to_have_text("reading …")
    while not timeline.asked:
        timeline.page.wait_for_timeout(20)
    rows = histories.small()
    timeline.page.evaluate("model.first = model.asked.at(-1)")
    timeline.row("a2").click()
    while len(timeline.asked) < 2:
        timeline.page.wait_for_timeout(20)

    timeline.answer("details", histories.details(rows[1]))
    expect(timeline.part("details")).to_have_attribute("data-id", "a2")
    timeline.page.evaluate(
        "answer => model.answer(model.first, answer)", histories.details(rows[0])
    )
    timeline.page.wait_for_timeout(50)

    expect(timeline.part("details")).to_have_attribute("data-id", "a2")


@pytest.mark.slow
def test_a_read_that_fails_is_told_where_it_was_wanted(timeline: Timeline) -> None:
    timeline.begin(details="checkpoint 'a1' is damaged; nbckpt check tells more")

    timeline.row("a1").click()

    expect(timeline.part("body")).to_have_text(
        "checkpoint 'a1' is damaged; nbckpt check tells more"
    )


@pytest.mark.slow
def test_a_kernel_of_another_version_is_told_in_a_sentence(timeline: Timeline) -> None:
    timeline.begin()

    timeline.set(rows=[{**row("a", None, "x"), "state": "odd"}])

    expect(timeline.part("notice")).to_contain_text("rows[0].state is no state; reload the page")
    assert len(timeline.names) == 12
