"""What became of the calls of kept functions, in the log, the status, the details and for programs."""

from __future__ import annotations

import ast

import pytest

from nbckpt.model import Cell
from nbckpt.reports import json_output
from nbckpt.reports.details import show_text
from nbckpt.reports.log import log_text
from nbckpt.reports.status import status_text
from nbckpt.session.history.costs import ledger_of
from nbckpt.steps.step import Request, Step
from tests.steps.calls.conftest import Notebook

FUNCTION = """
@nbckpt.step(retries=2, backoff=0)
def shout(text):
    ran(text)
    if text == "never" or (text == "later" and __import__("pathlib").Path(LOG).read_text().count("later") < 3):
        raise ValueError(text)
    return text.upper()
"""


def run(notebook: Notebook, name: str, source: str) -> None:
    """Run a checkpointed cell."""
    step = Step.begin(notebook.session, Request(name, rerun=True), Cell(source), ast.parse(source))
    notebook.cell(source)
    step.finish()
    notebook.session.wait()
    notebook.session.refresh()


@pytest.fixture
def called(notebook: Notebook) -> Notebook:
    """Three calls, one of them tried three times; then two of them again; then one that fails."""
    notebook.cell(FUNCTION)
    run(notebook, "first", "words = [shout(word) for word in ('a', 'b', 'later')]")
    failing = "try:\n    shout('never')\nexcept ValueError:\n    pass\nagain = [shout('x')]"
    run(notebook, "second", failing)
    run(notebook, "first", "words = [shout(word) for word in ('a', 'b')]")
    return notebook


def test_each_run_tells_what_ran_what_was_replayed_and_what_failed(called: Notebook) -> None:
    session = called.session
    ledger = ledger_of(session.store, session.timeline)
    first, second, again = session.timeline.checkpoints

    assert ledger.kept_of(first) == (3, 0, 0, 2)
    assert ledger.kept_of(second) == (1, 0, 1, 2)
    assert ledger.kept_of(again) == (0, 2, 0, 0)
    assert ledger.kept == (4, 2, 1, 4)
    assert [record["name"] for record in ledger.steps_of(first)] == ["shout"] * 3


def test_people_and_programs_are_told(called: Notebook) -> None:
    session = called.session
    timeline, ledger = session.timeline, ledger_of(session.store, session.timeline)
    first, second, again = timeline.checkpoints.values()

    log = log_text(timeline, "main", None, ledger=ledger).splitlines()
    status = status_text(session.store, timeline, "main", None)
    shown = show_text(timeline, second, ledger=ledger)

    assert "kept calls" in log[0]
    assert "2 (2 replayed)" in log[1]
    assert "functions   7 calls: 4 ran, 2 replayed, 1 failed, 4 tried again" in status
    assert "2 calls: 1 ran, 1 failed, 2 tried again" in shown
    assert "ValueError: never" in shown
    told = json_output.of_checkpoint(timeline, again, ledger)
    assert (told["kept_calls"], told["kept_calls_replayed"]) == (2, 2)
    assert "kept calls" not in log_text(timeline, "main", None)
    assert first.name == "first"
