"""A cell that waits for a person, who answers below the cell or in the side panel."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, WebSocketRoute, expect

from tests.browser.applications import Application
from tests.browser.notebooks import READY, Notebook

PLANTED = '<img src=x onerror="window.planted = true">'
ASK = f"""\
%%checkpoint clean
ok = nbckpt.approve('delete 2 files? {PLANTED}', ['a.csv', '{PLANTED}'])
print('said', bool(ok), ok.through, ok.text)
"""
PID = "import os\nopen('pid', 'w').write(str(os.getpid())) and None"
LEFT = "try:\n    nbckpt.approve('tidy up?', timeout_s=0)\nexcept nbckpt.UnansweredError:\n    pass"
lab_only = pytest.mark.parametrize("application", ["lab"], indirect=True)


def card_in(place: Locator) -> Locator:
    return place.locator(".nbckpt-Approval-card")


def press(card: Locator, name: str) -> None:
    card.get_by_role("button", name=name, exact=True).click()


def waits(notebook: Notebook) -> Locator:
    """The output of a cell that asks, and waits."""
    notebook.load("import nbckpt")
    return notebook.execute(ASK, waits=False)


def output(notebook: Notebook) -> Locator:
    return notebook.page.locator(".jp-Cell").nth(len(notebook.cells) - 1).locator(".jp-OutputArea")


def test_a_question_is_answered_below_its_cell_while_the_cell_waits(notebook: Notebook) -> None:
    waits(notebook)
    card = card_in(output(notebook))
    expect(card).to_contain_text(f"delete 2 files? {PLANTED}")
    expect(card.locator(".nbckpt-Approval-preview")).to_have_text(f"a.csv\n{PLANTED}")

    card.get_by_label("Reason (optional)").fill("they are copies")
    press(card, "Approve")

    expect(output(notebook)).to_contain_text("said True notebook they are copies")
    expect(card).to_have_count(0)
    expect(output(notebook)).to_contain_text(re.compile(r"approved by \w+ at .* \(notebook\)"))
    assert notebook.page.evaluate("window.planted") is None


@lab_only
def test_a_question_is_answered_in_the_panel_while_the_cell_waits(
    notebook: Notebook, pictures: Callable[[str], Path]
) -> None:
    waits(notebook)
    notebook.sidebar.open()
    card = card_in(notebook.sidebar.node)
    expect(card).to_contain_text(f"delete 2 files? {PLANTED}")
    expect(card).to_contain_text("clean · ")
    expect(card.get_by_role("button")).to_have_count(2)
    expect(card_in(output(notebook))).to_be_visible()
    notebook.page.screenshot(path=pictures("approvals"))

    card.get_by_label("Reason (optional)").fill("not these")
    press(card, "Refuse")

    expect(output(notebook)).to_contain_text("said False sidebar not these")
    expect(card).to_have_count(0)
    expect(notebook.sidebar.row("clean")).to_be_visible()
    assert notebook.page.evaluate("window.planted") is None


@lab_only
def test_a_question_that_no_cell_waits_for_can_be_withdrawn_in_the_panel(
    notebook: Notebook,
) -> None:
    notebook.load("import nbckpt", LEFT)
    notebook.sidebar.open()
    card = card_in(notebook.sidebar.node)
    expect(card).to_contain_text("No cell waits now")

    press(card, "Withdraw")

    expect(card).to_have_count(0)
    assert notebook.printed("[a.state for a in nbckpt.approvals()]") == "['withdrawn']"


@pytest.mark.parametrize(
    "frame",
    [
        "__import__('pandas').DataFrame({'user': ['ann', 'bob'], 'age': [31, 47]})",
        "__import__('polars').DataFrame({'user': ['ann', 'bob'], 'age': [31, 47]})",
    ],
    ids=["pandas", "polars"],
)
@lab_only
def test_a_question_about_a_table_shows_its_rows(notebook: Notebook, frame: str) -> None:
    notebook.load("import nbckpt")
    notebook.execute(f"bool(nbckpt.approve('delete these?', {frame}))", waits=False)
    notebook.sidebar.open()
    below, beside = card_in(output(notebook)), card_in(notebook.sidebar.node)

    for card in (below, beside):
        preview = card.locator(".nbckpt-Approval-preview")
        expect(preview).to_contain_text("2 rows, 2 columns")
        expect(preview).to_contain_text(re.compile(r"ann\s+31\s+.*bob\s+47", re.DOTALL))

    press(beside, "Refuse")
    expect(below).to_have_count(0)


@pytest.fixture
def another(application: Application, context: BrowserContext) -> Iterator[Notebook]:
    """A notebook in a page of its own, whose kernel may die."""
    page = context.new_page()
    notebook = Notebook(application, page, "killed")
    yield notebook
    page.close()
    assert notebook.own_errors == []


@lab_only
def test_a_killed_kernels_question_is_answered_in_the_panel_and_its_cell_goes_on(
    another: Notebook,
) -> None:
    another.load("import nbckpt", PID)
    another.execute(ASK, waits=False)
    expect(card_in(output(another))).to_be_visible()
    os.kill(int((another.application.root / "pid").read_text()), signal.SIGKILL)
    another.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    another.page.wait_for_function(READY, timeout=60_000)
    another.sidebar.open()
    another.run(0)  # names the store; what is not loaded cannot be unloaded
    another.execute("%load_ext nbckpt\nimport nbckpt")
    card = card_in(another.sidebar.node)
    expect(card).to_contain_text("No cell waits now")

    press(card, "Approve")
    expect(card).to_have_count(0)
    another.execute(ASK)

    expect(output(another)).to_contain_text("said True sidebar")


class Held:
    """Keeps back a page's requests for subshells until they are let go."""

    def __init__(self) -> None:
        self._held: list[tuple[WebSocketRoute, bytes | str]] = []
        self._is_open = False

    def connect(self, page: WebSocketRoute) -> None:
        server = page.connect_to_server()

        def forward(message: bytes | str) -> None:
            text = message if isinstance(message, str) else message.decode(errors="replace")
            if "create_subshell_request" in text and not self._is_open:
                self._held.append((server, message))
            else:
                server.send(message)

        page.on_message(forward)

    def let_go(self) -> None:
        assert self._held
        self._is_open = True
        for server, message in self._held:
            server.send(message)


@lab_only
def test_an_answer_that_is_quicker_than_its_subshell_is_heard(
    application: Application, context: BrowserContext
) -> None:
    held = Held()
    page = context.new_page()
    page.route_web_socket(re.compile("/channels"), held.connect)
    notebook = Notebook(application, page, "quick")
    waits(notebook)
    card = card_in(output(notebook))

    press(card, "Approve")
    page.wait_for_timeout(500)
    expect(card.get_by_role("button", name="Approve")).to_be_disabled()
    held.let_go()

    expect(output(notebook)).to_contain_text("said True notebook")
    assert notebook.own_errors == []
    page.close()


@lab_only
def test_a_long_question_leaves_its_buttons_in_sight(notebook: Notebook) -> None:
    notebook.load("import nbckpt")
    notebook.execute("bool(nbckpt.approve('is this right? ' * 200))", waits=False)
    notebook.sidebar.open()
    card = card_in(notebook.sidebar.node)

    expect(card.get_by_role("button", name="Refuse")).to_be_in_viewport(ratio=1)

    press(card, "Refuse")
    expect(card).to_have_count(0)
