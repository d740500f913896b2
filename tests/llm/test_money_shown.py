"""What was paid and what was saved, in the log, the status, the details and for programs."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import openai
import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbckpt import cli
from nbckpt.errors import UsageError
from nbckpt.model import Cell
from nbckpt.reports import json_output
from nbckpt.reports.details import show_text
from nbckpt.reports.log import log_text
from nbckpt.reports.status import status_text
from nbckpt.reports.timeline_rows import Listing, details_of
from nbckpt.session.history.costs import ledger_of
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.step import Step
from nbckpt.testing import Provider
from tests.llm.asking import ask, records_of


def run(session: Session, name: str, questions: Sequence[str]) -> None:
    """Run a step that asks."""
    step = Step.begin(session, Request(name, rerun=True), Cell("ask()"), ast.parse("ask()"))
    with openai.OpenAI() as client:
        for question in questions:
            ask(client, question)
    step.finish()


@pytest.fixture
def asked(provider: Provider, recorded: Session) -> Session:
    """Three calls in one step and one of no known price in another; the three are replayed."""
    recorded.settings = replace(recorded.settings, prices="m=0/100000")
    questions = [f"question {n}" for n in range(3)]
    run(recorded, "three", questions)
    recorded.settings = replace(recorded.settings, prices="")
    run(recorded, "one", ["unknown"])
    run(recorded, "three", questions)
    assert provider.answered == 4
    records_of(recorded)
    return recorded


def test_a_run_has_its_own_calls_and_a_replay_saves(asked: Session) -> None:
    first, one, again = asked.timeline.checkpoints
    ledger = ledger_of(asked.store, asked.timeline)
    cost = sum(call.get("cost_usd", 0) for call in records_of(asked))

    assert (ledger.of(first).paid, ledger.of(first).replayed) == (3, 0)
    assert ledger.of(first).paid_usd == pytest.approx(cost)
    assert ledger.of(one).paid_usd is None
    assert ledger.of(one).paid_text() == "?"
    assert (ledger.of(again).paid, ledger.of(again).replayed) == (0, 3)
    assert ledger.of(again).saved_usd == pytest.approx(cost)
    assert len(ledger.calls_of(first)) == 3
    assert ledger.total.calls == 7
    assert ledger.total.unpriced == 1


@pytest.mark.slow
def test_a_book_that_is_read_on_says_what_a_new_one_says(
    asked: Session, provider: Provider
) -> None:
    ledger = ledger_of(asked.store, asked.timeline)
    run(asked, "later", ["later"])
    records_of(asked)
    later = asked.timeline.branches["main"]

    assert ledger_of(asked.store, asked.timeline) is ledger
    assert ledger.of(later).calls == 1


def test_the_log_and_the_status_tell(asked: Session) -> None:
    ledger = ledger_of(asked.store, asked.timeline)
    log = log_text(asked.timeline, "main", None, ledger=ledger).splitlines()
    status = status_text(asked.store, asked.timeline, "main", None)

    assert "calls" in log[0]
    assert "paid" in log[0]
    assert "3 (3 replayed)" in log[1]
    assert "?" in log[2]
    assert "$" in log[3]
    line = next(text for text in status.splitlines() if text.startswith("models"))
    assert "7 calls, 3 of them replayed" in line
    assert "$" in line.partition(" paid")[0]
    assert line.endswith(" saved")


def test_a_log_without_calls_has_no_such_columns(recorded: Session) -> None:
    recorded.checkpoint("a")

    text = log_text(recorded.timeline, "main", None)

    assert "calls" not in text
    assert "models" not in status_text(recorded.store, recorded.timeline, "main", None)


def test_a_checkpoint_tells_its_calls(asked: Session) -> None:
    first, one, _ = asked.timeline.checkpoints.values()
    ledger = ledger_of(asked.store, asked.timeline)

    text = show_text(asked.timeline, first, ledger=ledger)
    other = show_text(asked.timeline, one, ledger=ledger)

    assert "model calls" in text
    assert "question 2" in text
    assert "1 call of unknown price" in other


def test_rows_and_json_have_it(asked: Session) -> None:
    first = next(iter(asked.timeline.checkpoints.values()))
    rows = Listing(asked).list().rows
    ledger = ledger_of(asked.store, asked.timeline)
    details = details_of(asked, first)

    assert [row["calls"] for row in rows] == [3, 1, 3]
    assert rows[0]["cost_usd"] > 0
    assert rows[1]["cost_usd"] is None
    assert [call["summary"] for call in details["calls"]] == [f"question {n}" for n in range(3)]
    assert json.loads(json.dumps(details))["row"]["calls"] == 3
    found = json_output.of_checkpoint(asked.timeline, first, ledger)
    assert (found["calls"], found["cost_usd"]) == (3, rows[0]["cost_usd"])


@pytest.mark.slow
def test_the_command_line_tells(
    asked: Session, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.wait()
    cli.main(["log", "--store", str(folder), "--json"])
    shown = json.loads(capsys.readouterr().out)

    assert [each["calls"] for each in shown] == [3, 1, 3]


def test_the_magic_sets_shows_and_ends_a_budget(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("load_ext", "nbckpt")
    capsys.readouterr()
    for line in ("budget 5.00", "budget", "budget off"):
        shell.run_line_magic("nbckpt", line)

    out = capsys.readouterr().out.splitlines()
    assert out[0] == out[1] == "budget $5.00 per notebook: $0.00 paid, $5.00 left"
    assert out[2] == "no budget; $0.00 paid in this session"
    with pytest.raises(UsageError, match=r"budget 'five': write `%nbckpt budget \[USD"):
        shell.run_line_magic("nbckpt", "budget five")


@pytest.mark.slow
def test_a_list_has_the_calls_of_the_step_that_just_ended(
    provider: Provider, recorded: Session
) -> None:
    run(recorded, "one", ["hi"])
    recorded.wait()

    assert [row["calls"] for row in Listing(recorded).list().rows] == [1]
