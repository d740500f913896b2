"""`%timeline` as a user drives it, in JupyterLab and in Notebook 7."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.applications import lab_first
from tests.browser.notebooks import Notebook

CELLS = (
    "%%checkpoint start\nx = 1",
    "%%checkpoint twice\ny = x * 2",
    "%%checkpoint total\nz = x + y\nprint('total', z)",
)


def test_the_timeline_shows_the_checkpoints_newest_on_top(notebook: Notebook) -> None:
    notebook.begin(*CELLS)

    expect(notebook.part("row")).to_have_count(3)
    assert notebook.names() == ["total", "twice", "start"]
    expect(notebook.here).to_have_attribute("data-name", "total")
    assert notebook.part("list").get_attribute("role") == "listbox"


def test_rewind_by_its_button(notebook: Notebook) -> None:
    notebook.begin(*CELLS)

    notebook.row("start").click()
    notebook.verb("rewind").click()

    expect(notebook.part("notice")).to_contain_text("rewound to 'start'")
    expect(notebook.here).to_have_attribute("data-name", "start")
    assert notebook.printed("x, 'y' in globals()") == "1 False"


@lab_first
def test_fork_with_another_value_through_its_form(notebook: Notebook) -> None:
    notebook.begin(*CELLS)

    notebook.row("start").click()
    notebook.verb("fork").click()
    notebook.root.locator("input[name=branch]").fill("try")
    notebook.root.locator("input[name=variable]").fill("x")
    notebook.root.locator("input[name=expression]").fill("x + 40")
    notebook.part("submit").click()

    expect(notebook.part("notice")).to_contain_text("'try'")
    assert notebook.printed("x, 'y' in globals()") == "41 False"
    expect(notebook.part("row").filter(has_text="try").first).to_be_visible()


@lab_first
def test_what_is_wrong_with_a_fork_is_said_once_and_mended_where_it_was_typed(
    notebook: Notebook,
) -> None:
    notebook.begin(*CELLS)

    notebook.row("start").click()
    notebook.verb("fork").click()
    notebook.root.locator("input[name=variable]").fill("x")
    notebook.root.locator("input[name=expression]").fill("nowhere")
    notebook.part("submit").click()

    expect(notebook.part("error")).to_contain_text("nowhere")
    expect(notebook.part("notice")).to_have_text("")
    expect(notebook.root.locator("input[name=expression]")).to_be_focused()


@lab_first
def test_rerun_runs_the_recorded_cells_with_the_other_value(notebook: Notebook) -> None:
    notebook.begin(*CELLS)
    notebook.execute("%fork start try x=10")
    expect(notebook.here).to_have_attribute("data-name", "start")

    notebook.here.click()
    notebook.verb("rerun").click()
    notebook.part("submit").click()

    expect(notebook.part("cells")).to_contain_text("total")
    assert notebook.printed("x, y, z") == "10 20 30"


@lab_first
def test_compare_two_checkpoints(notebook: Notebook) -> None:
    notebook.begin(*CELLS, "%%checkpoint again\nx = [1, 2]")

    notebook.row("start").click()
    notebook.row("again").click(modifiers=["Shift"])

    comparison = notebook.part("comparison")
    expect(comparison).to_contain_text("x")
    expect(comparison).to_contain_text("z")


@lab_first
def test_details_tell_variables_code_and_outputs(notebook: Notebook) -> None:
    notebook.begin(*CELLS)

    notebook.row("total").click()

    details = notebook.part("details")
    expect(details).to_contain_text("z = x + y")
    expect(details).to_contain_text("total 3")
    expect(details).to_contain_text("int")


@lab_first
def test_what_a_variable_looks_like_is_text(notebook: Notebook) -> None:
    attack = "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 2'>"
    notebook.begin(
        f'%%checkpoint evil --note "{attack}"\nx = {{{attack!r}: {attack!r}}}\nprint({attack!r})'
    )

    notebook.row("evil").click()

    expect(notebook.part("details")).to_contain_text("<script>window.stolen = 1</script>")
    assert notebook.root.locator("script, img[src=x]").count() == 0
    assert notebook.page.evaluate("window.stolen") is None


def test_it_goes_on_while_a_cell_runs(notebook: Notebook) -> None:
    notebook.begin(*CELLS)
    notebook.execute(
        "import time, nbckpt\nwith nbckpt.checkpoint('early'):\n    early = 1\n"
        "time.sleep(4)\nprint('the cell has ended')",
        waits=False,
    )

    expect(notebook.row("early")).to_be_visible()
    notebook.row("twice").click()
    expect(notebook.part("details")).to_contain_text("y = x * 2")

    ended = notebook.page.get_by_text("the cell has ended", exact=True)
    expect(ended).to_have_count(0)
    expect(ended).to_be_visible()


@lab_first
def test_a_rewind_that_is_asked_while_a_cell_runs_happens_after_it(notebook: Notebook) -> None:
    notebook.begin(*CELLS)
    notebook.execute(
        "import time; time.sleep(2); print('in the cell', 'z' in globals())", waits=False
    )

    notebook.row("start").click()
    notebook.verb("rewind").click()

    expect(notebook.part("notice")).to_contain_text("rewound to 'start'")
    expect(notebook.page.get_by_text("in the cell True", exact=True)).to_be_visible()
    assert notebook.printed("'z' in globals()") == "False"


def test_the_keyboard_is_enough(notebook: Notebook) -> None:
    notebook.begin(*CELLS)
    keys = notebook.page.keyboard

    notebook.part("list").focus()
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("f")
    expect(notebook.root.locator("input[name=branch]")).to_be_focused()
    keys.press("Escape")
    expect(notebook.part("list")).to_be_focused()
    keys.press("Enter")
    keys.press("Enter")

    expect(notebook.part("notice")).to_contain_text("rewound to 'start'")
    assert notebook.printed("'y' in globals()") == "False"


@lab_first
def test_an_error_is_said_in_the_timeline(notebook: Notebook) -> None:
    notebook.begin(*CELLS)
    notebook.row("start").click()
    notebook.execute("%unload_ext nbckpt")

    notebook.verb("rewind").click()

    expect(notebook.part("notice")).to_contain_text("%load_ext nbckpt")
    notebook.execute("%load_ext nbckpt")


@lab_first
def test_an_old_error_goes_when_something_else_is_looked_at(notebook: Notebook) -> None:
    notebook.begin(*CELLS)
    notebook.row("start").click()
    notebook.execute("%unload_ext nbckpt")
    notebook.verb("rewind").click()
    expect(notebook.part("notice")).to_contain_text("%load_ext nbckpt")

    notebook.row("twice").click()

    expect(notebook.part("notice")).to_have_text("")
    notebook.execute("%load_ext nbckpt")


@lab_first
def test_the_error_of_a_rerun_stays_until_the_session_goes_on(notebook: Notebook) -> None:
    notebook.begin(*CELLS)
    notebook.execute("%fork start try x=None")
    expect(notebook.here).to_have_attribute("data-name", "start")
    notebook.here.click()
    notebook.verb("rerun").click()
    notebook.part("submit").click()
    expect(notebook.part("notice")).to_contain_text("TypeError")
    notebook.page.wait_for_timeout(1000)  # the view has heard by now where the rerun has ended
    expect(notebook.part("notice")).to_contain_text("TypeError")

    notebook.execute("%%checkpoint later\nlater = 1")

    expect(notebook.row("later")).to_be_visible()
    expect(notebook.part("notice")).to_have_text("")
