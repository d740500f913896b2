"""A budget stops the call that would pass it, before it is sent."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import openai
import pytest

import nbckpt
from nbckpt.errors import BudgetError, UsageError
from nbckpt.llm import current, prices, scope
from nbckpt.llm.calls_text import calls_text
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import ask, records_of

DEAR = "m=0/100000"
"""An answer of ten tokens costs a dollar."""


@pytest.fixture
def dear(recorded: Session) -> Session:
    """A session whose model costs much."""
    recorded.settings = replace(recorded.settings, prices=DEAR)
    return recorded


def paid_of(session: Session) -> float:
    return sum(record["cost_usd"] for record in records_of(session))


def test_calls_stop_at_the_budget_and_none_is_tried_again(
    provider: Provider, dear: Session
) -> None:
    with openai.OpenAI(max_retries=5) as client, scope.entered("step"):
        ask(client, "0")
        one = paid_of(dear)
        nbckpt.budget(2.5 * one)
        ask(client, "1")
        with pytest.raises(BudgetError, match=r"the budget of \$.* stops this call of 'm'"):
            ask(client, "2")

    recorder = current.recorder()
    assert recorder is not None
    assert calls_text(recorder.outcomes) == "3 of openai (2 recorded, 1 stopped unsent)"
    assert provider.answered == len(provider.requests) == 2
    assert paid_of(dear) == pytest.approx(2 * one)


@pytest.mark.slow
def test_anthropics_sdk_lets_it_through(provider: Provider, dear: Session) -> None:
    import anthropic

    nbckpt.budget(0.001)
    with (
        anthropic.Anthropic(max_retries=5) as client,
        scope.entered("step"),
        pytest.raises(BudgetError),
    ):
        client.messages.create(
            model="m", max_tokens=100, messages=[{"role": "user", "content": "hi"}]
        )

    assert provider.requests == []


@pytest.mark.filterwarnings("default")
def test_calls_in_flight_count_as_they_are_estimated(provider: Provider, dear: Session) -> None:
    nbckpt.budget(3.5)

    async def gathered() -> list[object]:
        async with openai.AsyncOpenAI(max_retries=2) as client:
            said = [{"role": "user", "content": "hi"}]
            calls = [
                client.chat.completions.create(model="m", messages=said, max_tokens=10)  # type: ignore[arg-type]
                for _ in range(8)
            ]
            return await asyncio.gather(*calls, return_exceptions=True)

    with scope.entered("step"):
        results = asyncio.run(gathered())

    stopped = [r for r in results if isinstance(r, BudgetError)]
    assert 0 < provider.answered <= 3
    assert len(stopped) == 8 - provider.answered


def test_a_replay_costs_nothing_and_a_budget_lets_it_be(provider: Provider, dear: Session) -> None:
    with openai.OpenAI() as client:
        with scope.entered("step"):
            first = ask(client)
        nbckpt.budget(0)
        with scope.entered("step"):
            assert ask(client) == first
            with pytest.raises(BudgetError):
                ask(client)
        nbckpt.budget(float("inf"))
        with scope.entered("step"):
            ask(client)
            ask(client)

    assert provider.answered == 2


def test_a_call_outside_of_steps_is_stopped_too(provider: Provider, dear: Session) -> None:
    nbckpt.budget(0)
    with openai.OpenAI() as client, pytest.raises(BudgetError):
        ask(client)

    assert provider.requests == []


def test_a_call_that_failed_costs_nothing(provider: Provider, dear: Session) -> None:
    nbckpt.budget(2.5)
    provider.stop()
    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        for _ in range(3):
            with pytest.raises(openai.APIConnectionError):
                ask(client, max_tokens=20)

    assert nbckpt.budget() == "budget $2.50: $0.00 paid in this session, $2.50 left"


def test_a_model_without_a_price_is_told_of(provider: Provider, recorded: Session) -> None:
    nbckpt.budget(1)
    with openai.OpenAI() as client, scope.entered("step"):
        ask(client)

    assert any("no price is known of 'm'" in news for news in recorded.writes.news)


@pytest.mark.parametrize("given", [-1, "5", float("nan"), [5]])
def test_what_is_no_amount_is_no_budget(recorded: Session, given: Any) -> None:
    with pytest.raises(UsageError, match="give US dollars"):
        nbckpt.budget(given)


def test_a_budget_needs_prices(recorded: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(prices, "_loading", [])
    monkeypatch.setattr(prices, "import_module", missing)

    with pytest.raises(UsageError, match="no prices are known here"):
        nbckpt.budget(5)
    with pytest.raises(UsageError, match="give US dollars"):
        nbckpt.budget(-1)
    recorder = current.recorder()
    assert recorder is not None
    assert recorder.budget.limit_usd is None
