"""What a call cost, by whose word, and where nobody knows."""

from __future__ import annotations

import socket
import time

import openai
import pytest

from nbckpt.config.config_file import write_setting
from nbckpt.config.model_prices import rates_of
from nbckpt.config.settings_sources import settings_of
from nbckpt.errors import UsageError
from nbckpt.llm import prices, scope
from nbckpt.llm.usage import Usage, usage_of
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import ask, records_of

NOW = 1_780_000_000.0


def test_a_known_model_has_a_price_with_its_source_and_version() -> None:
    price = prices.price_of("openai", "gpt-4o-mini", Usage(1_000_000, 1_000_000), NOW)

    assert price is not None
    assert price.usd == pytest.approx(0.15 + 0.60)
    assert price.source.startswith("genai-prices 0.")


def test_tokens_from_a_cache_cost_less() -> None:
    told = {"input_tokens": 10, "output_tokens": 0, "cache_read_input_tokens": 1_000_000}
    usage = usage_of([{"usage": told}])
    all_new = Usage(usage.tokens_in, 0)

    cached = prices.price_of("anthropic", "claude-sonnet-4-5", usage, NOW)
    new = prices.price_of("anthropic", "claude-sonnet-4-5", all_new, NOW)

    assert cached is not None
    assert new is not None
    assert 0 < cached.usd < new.usd / 2


@pytest.mark.parametrize("provider", ["openai", "ollama", "nobody's"])
def test_an_unknown_model_has_no_price(provider: str) -> None:
    assert prices.price_of(provider, "no-such-model", Usage(10, 10), NOW) is None


def test_tokens_that_were_not_told_have_no_price() -> None:
    assert prices.price_of("openai", "gpt-4o-mini", Usage(), NOW) is None


def test_the_users_own_prices_win() -> None:
    rates = rates_of("gpt-4o-mini=1/2/0.5, mine=0/0")

    price = prices.price_of(
        "openai", "gpt-4o-mini", Usage(3_000_000, 1_000_000, 1_000_000), NOW, rates
    )
    free = prices.price_of("ollama", "mine", Usage(5, 5), NOW, rates)

    assert price == prices.Price(2 * 1 + 0.5 + 2, prices.OWN)
    assert free == prices.Price(0.0, prices.OWN)


@pytest.mark.parametrize("text", ["mine", "mine=1", "=1/2", "mine=1/x", "mine=-1/2", "a=1/2/3/4"])
def test_prices_that_cannot_be_read_are_refused(text: str, recorded: Session) -> None:
    with pytest.raises(UsageError, match=r"prices is .*; it is MODEL=IN/OUT"):
        write_setting(recorded.store, "prices", text)


def test_nothing_is_fetched_for_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _self, address: asked.append(address))
    monkeypatch.setattr(prices, "_loading", [])

    assert prices.price_of("openai", "gpt-4o", Usage(1, 1), NOW) is not None
    assert asked == []


def test_without_the_package_a_call_has_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(prices, "_loading", [])
    monkeypatch.setattr(prices, "import_module", missing)

    assert prices.price_of("openai", "gpt-4o", Usage(1, 1), NOW) is None


def test_a_price_takes_less_than_a_millisecond() -> None:
    prices.load().result()
    usage = Usage(1000, 100, 10)
    took = []
    for _ in range(50):
        began = time.perf_counter()
        prices.price_of("openai", "gpt-4o-mini", usage, NOW)
        took.append(time.perf_counter() - began)

    assert sorted(took)[25] < 0.001


def test_a_recording_says_what_it_cost(provider: Provider, recorded: Session) -> None:
    with openai.OpenAI() as client, scope.entered("step"):
        ask(client)
        client.chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": "hi"}]
        )

    unknown, known = records_of(recorded)
    assert "cost_usd" not in unknown
    assert known["cost_usd"] == pytest.approx(
        (known["tokens_in"] * 0.15 + known["tokens_out"] * 0.6) / 1e6
    )
    assert known["price"].startswith("genai-prices ")
    rows = recorded.sql("select model, sum(cost_usd) is null from recordings group by 1").fetchall()
    assert sorted(rows) == [("gpt-4o-mini", False), ("m", True)]


def test_prices_of_the_store_are_taken(provider: Provider, recorded: Session) -> None:
    write_setting(recorded.store, "prices", "m=1000000/0")
    recorded.settings = settings_of(recorded.store)
    with openai.OpenAI() as client, scope.entered("step"):
        ask(client)

    (record,) = records_of(recorded)
    assert record["cost_usd"] == record["tokens_in"] > 0
    assert record["price"] == prices.OWN
