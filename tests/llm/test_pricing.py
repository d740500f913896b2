"""Prices anew, beside those that recordings were made with; and each call that was replayed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbckpt import cli
from nbckpt.cli import main
from nbckpt.llm.repricing import reprice
from nbckpt.reports.details import show_text
from nbckpt.reports.timeline_rows import details_of
from nbckpt.session.history.costs import ledger_of, replays_in
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import records_of
from tests.llm.test_money_shown import run

QUESTIONS = [f"question {n}" for n in range(3)]


@pytest.fixture
def asked(provider: Provider, recorded: Session) -> Session:
    """Three calls whose price is not known."""
    recorded.settings = replace(recorded.settings, prices="")
    run(recorded, "three", QUESTIONS)
    records_of(recorded)
    return recorded


def with_prices(session: Session, prices: str) -> Session:
    session.settings = replace(session.settings, prices=prices)
    return session


def test_a_new_price_counts_and_the_old_one_stays_beside_it(asked: Session) -> None:
    ledger_of(asked.store, asked.timeline)  # read before
    first = reprice(with_prices(asked, "m=0/1000000"))
    second = reprice(with_prices(asked, "m=0/2000000"))

    [checkpoint] = asked.timeline.checkpoints
    out = sum(record["tokens_out"] for record in records_of(asked))
    ledger = ledger_of(asked.store, asked.timeline)
    assert (first.changed, first.before_usd, first.after_usd) == (3, 0.0, out)
    assert (second.changed, second.before_usd, second.after_usd) == (3, out, 2 * out)
    assert ledger.of(checkpoint).paid_usd == 2 * out
    assert ledger.total.unpriced == 0
    told = asked.sql("select sum(cost_usd), any_value(price) from recordings").fetchall()
    assert told == [(2 * out, "setting prices")]
    by_source = asked.sql("select price, count(*), sum(cost_usd) from prices group by 1 order by 1")
    assert by_source.fetchall() == [("", 3, None), ("setting prices", 6, 3 * out)]


def test_what_replays_saved_is_by_the_same_prices_as_what_was_paid(asked: Session) -> None:
    reprice(with_prices(asked, "m=0/1000000"))
    run(asked, "three", QUESTIONS)
    for prices in ("m=0/2000000", "m=0/3000000"):
        reprice(with_prices(asked, prices))

    out = sum(record["tokens_out"] for record in records_of(asked))
    ledger = ledger_of(asked.store, asked.timeline)
    _, again = asked.timeline.checkpoints
    assert (ledger.total.paid_usd, ledger.total.saved_usd) == pytest.approx((3 * out, 3 * out))
    assert ledger.of(again).saved_usd == pytest.approx(3 * out)


def test_prices_that_stay_are_written_once(asked: Session) -> None:
    reprice(with_prices(asked, "m=0/1000000"))
    again = reprice(asked)

    assert again.changed == 0
    assert len(asked.store.records("price")) == 1


def test_a_model_without_a_price_stays_unknown_and_is_never_nothing(asked: Session) -> None:
    done = reprice(with_prices(asked, "another=1/1"))

    assert (done.changed, done.unknown) == (0, 3)
    assert asked.sql("select cost_usd from recordings").fetchall() == [(None,)] * 3


def test_the_magic_and_the_command_tell_by_model(
    asked: Session, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["cost", "--store", str(folder)]) == 0
    before = capsys.readouterr().out
    assert main(["config", "prices", "m=0/1000000", "--store", str(folder)]) == 0
    capsys.readouterr()
    assert main(["cost", "--recompute", "--json", "--store", str(folder)]) == 0
    told = capsys.readouterr()

    assert "unknown: `nbckpt config prices" in before
    assert before.splitlines()[1].split()[:2] == ["m", "3"]
    assert told.err.startswith("3 recordings of 3 priced anew: $0.00 before, $")
    assert [call["price"] for call in json.loads(told.out)] == ["setting prices"] * 3


def test_the_magic_tells_that_there_are_none(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("load_ext", "nbckpt")
    capsys.readouterr()
    shell.run_line_magic("nbckpt", "cost")

    assert capsys.readouterr().out == "no model calls are recorded\n"


def test_each_replay_of_a_run_is_listed(asked: Session) -> None:
    run(asked, "three", QUESTIONS[:2])
    asked.wait()
    asked.refresh()
    _, again = asked.timeline.checkpoints.values()
    ledger = ledger_of(asked.store, asked.timeline)

    replays = replays_in(asked.store, ledger, again.id)
    text = show_text(asked.timeline, again, ledger=ledger, replays=replays)

    assert [record["summary"] for record in replays] == QUESTIONS[:2]
    assert [line.split()[0] for line in text.splitlines() if "question" in line][-2:] == [
        "replayed",
        "replayed",
    ]
    calls = details_of(asked, again)["calls"]
    assert [(call["summary"], call["replayed"]) for call in calls] == [
        (question, True) for question in QUESTIONS[:2]
    ]
