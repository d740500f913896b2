"""Menus, shortcuts, toolbar and status bar, as a user finds them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.notebooks import Notebook

CELLS = (
    "%%checkpoint start\nx = 1",
    "%%checkpoint double\ny = x * 2\nprint('double', y)",
)
# Those that can be done where the active cell has a checkpoint and nothing was rewound.
LABELS = (
    "Show Checkpoints",
    "Checkpoint…",
    "Resume…",
    "Switch Branch…",
    "Show This Cell's Checkpoint",
    "Rewind to This Cell",
    "Fork from This Cell…",
    "Rerun from This Cell…",
)
COMMAND = "id => window.jupyterapp.commands.execute(id)"
RESTART = """() =>
  window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"""
lab_only = pytest.mark.parametrize("application", ["lab"], indirect=True)


@pytest.fixture
def history(notebook: Notebook) -> Notebook:
    notebook.load(*CELLS)
    notebook.sidebar.open()
    expect(notebook.sidebar.row("double")).to_be_visible()
    return notebook


def dialog(notebook: Notebook) -> Locator:
    return notebook.page.locator(".jp-Dialog")


def menu_of_cell(notebook: Notebook, index: int) -> Locator:
    """The context menu of a cell."""
    cell = notebook.page.locator(".jp-CodeCell").nth(index)
    cell.locator(".jp-InputPrompt").click(button="right")
    return notebook.page.locator(".lm-Menu")


def test_the_button_in_the_toolbar_keeps_what_is_there(history: Notebook) -> None:
    history.execute("z = 'by hand'")
    history.page.get_by_role("button", name=re.compile("Keep the variables")).click()
    dialog(history).locator("input").fill("by hand")
    history.page.keyboard.press("Enter")

    expect(history.sidebar.here).to_have_attribute("data-name", "by-hand")
    history.execute("z = 'lost'")
    history.execute("%rewind by-hand")
    assert history.printed("z") == "by hand"


@lab_only
def test_the_palette_and_the_kernel_menu_have_the_commands(
    history: Notebook, pictures: Callable[[str], Path]
) -> None:
    page = history.page
    page.locator(".jp-CodeCell").nth(1).locator(".jp-InputPrompt").click()
    page.evaluate(COMMAND, "apputils:activate-command-palette")
    page.locator(".lm-CommandPalette-input").fill("nbckpt")
    for label in LABELS:
        item = page.locator(".lm-CommandPalette-itemLabel", has_text=label)
        expect(item.first).to_be_visible()
    first = page.locator(".lm-CommandPalette-itemLabel").first
    expect(first).to_have_text(re.compile("^nbckpt: "))  # what Enter runs
    page.screenshot(path=pictures("commands-palette"))
    page.keyboard.press("Escape")

    page.locator(".lm-MenuBar-item", has_text="Kernel").click()
    page.locator(".lm-Menu-item", has_text="Checkpoints").hover()
    expect(page.locator(".lm-Menu-item", has_text="Switch Branch…")).to_be_visible()
    page.screenshot(path=pictures("commands-menu"))
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")


@lab_only
def test_a_cell_is_rewound_to_by_its_menu_and_the_rewind_undone_by_a_key(
    history: Notebook,
) -> None:
    menu_of_cell(history, 1).get_by_text("Rewind to This Cell").click()
    dialog(history).get_by_role("button", name="Variables Only").click()
    expect(history.sidebar.here).to_have_attribute("data-name", "start")
    assert history.printed("x, 'y' in globals()") == "1 False"

    history.page.locator(".jp-CodeCell").nth(1).locator(".jp-InputPrompt").click()
    history.page.keyboard.press("Control+Alt+u")

    expect(history.sidebar.here).to_have_attribute("data-name", "double")
    assert history.printed("y") == "2"


@lab_only
def test_a_cell_without_a_checkpoint_offers_nothing_of_it(history: Notebook) -> None:
    menu = menu_of_cell(history, 3)

    expect(menu.locator(".lm-Menu-item", has_text="Rewind to This Cell")).to_have_class(
        re.compile("lm-mod-disabled")
    )
    history.page.keyboard.press("Escape")


@lab_only
def test_a_fork_from_a_cell_opens_the_form_in_the_panel(history: Notebook) -> None:
    menu_of_cell(history, 1).get_by_text("Fork from This Cell…").click()

    expect(history.sidebar.part("details")).to_be_visible()
    expect(history.sidebar.root.locator("input[name=branch]")).to_be_focused()


@lab_only
def test_the_status_bar_tells_branch_and_head_and_opens_the_panel(history: Notebook) -> None:
    item = history.page.locator(".nbckpt-StatusItem")
    expect(item).to_have_text("main · double")
    history.page.evaluate(COMMAND, "filebrowser:activate")
    expect(history.sidebar.node).to_be_hidden()

    item.click()

    expect(history.sidebar.node).to_be_visible()


@lab_only
def test_a_branch_is_switched_to_by_name(history: Notebook) -> None:
    history.execute("%fork start small x=5")
    expect(history.sidebar.here).not_to_have_attribute("data-name", "double")
    history.page.evaluate(f"() => void ({COMMAND})('nbckpt:switch')")
    dialog(history).locator("select").select_option("main")
    history.page.keyboard.press("Enter")

    expect(history.sidebar.here).to_have_attribute("data-name", "double")
    assert history.printed("x") == "1"


@lab_only
def test_where_nbckpt_was_unloaded_it_is_enabled_by_a_command_and_offers_nothing(
    history: Notebook,
) -> None:
    history.execute("%unload_ext nbckpt")
    expect(history.page.locator(".nbckpt-StatusItem")).to_be_hidden()
    history.page.evaluate(RESTART)
    expect(history.sidebar.remedy("enable")).to_be_visible()
    history.page.wait_for_timeout(500)
    expect(history.page.locator(".Toastify__toast", has_text="has a new kernel")).to_have_count(0)

    history.page.evaluate(COMMAND, "nbckpt:enable")

    expect(history.page.locator(".nbckpt-StatusItem")).to_contain_text("main")
