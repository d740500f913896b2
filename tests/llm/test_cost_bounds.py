"""No call costs more than what is put aside for it."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbckpt
from nbckpt.errors import BudgetError
from nbckpt.llm import current, scope
from nbckpt.llm.call_costs import CallCosts
from nbckpt.llm.cost_bounds import Bound, bound_of
from nbckpt.llm.prices import load, price_of
from nbckpt.llm.rate_bounds import most_of
from nbckpt.llm.service_tiers import dearer_tier_asked
from nbckpt.llm.usage import usage_of
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm.answering import answering
from tests.llm.asking import records_of

AT = dt.datetime(2026, 11, 6, tzinfo=dt.UTC).timestamp()
HI = [{"role": "user", "content": "hi"}]
PIXEL = base64.b64encode(bytes(67)).decode()


def bound(model: str = "m", kind: str = "chat", **members: Any) -> Bound:
    """The bound of a request to a model with a window of 1,000 tokens."""
    body = json.dumps({"model": model, **members}).encode()
    return bound_of(
        kind, model, {"model": model, **members}, body, window=lambda: 1_000, longest=lambda: None
    )


def openai_usages(into: int, out: int) -> Iterator[dict[str, Any]]:
    details_in = ({}, {"cached_tokens": into}, {"cache_write_tokens": into})
    for tier in ("default", "flex", "priority"):
        for details in details_in:
            usage = {"input_tokens": into, "output_tokens": out, "input_tokens_details": details}
            yield {"service_tier": tier, "usage": usage}


def anthropic_usages(into: int, out: int) -> Iterator[dict[str, Any]]:
    for caches in (
        {"input_tokens": into},
        {"cache_read_input_tokens": into},
        {"cache_creation_input_tokens": into},
        {
            "cache_creation_input_tokens": into,
            "cache_creation": {"ephemeral_1h_input_tokens": into},
        },
    ):
        for place in ("global", "us"):
            for more in ({}, {"speed": "fast"}, {"service_tier": "batch"}):
                yield {"usage": {"output_tokens": out, "inference_geo": place, **caches, **more}}


def gemini_usages(into: int, out: int) -> Iterator[dict[str, Any]]:
    for name in ("TEXT", "AUDIO", "IMAGE", "VIDEO"):
        went_in = [{"modality": name, "tokenCount": into}]
        for came_out in ("TEXT", "AUDIO", "IMAGE"):
            usage = {
                "promptTokenCount": into,
                "candidatesTokenCount": out,
                "promptTokensDetails": went_in,
                "candidatesTokensDetails": [{"modality": came_out, "tokenCount": out}],
            }
            yield {"usageMetadata": usage}


USAGES = {"openai": openai_usages, "anthropic": anthropic_usages, "google": gemini_usages}


@pytest.mark.slow
@pytest.mark.parametrize("provider", USAGES)
@pytest.mark.parametrize("into", [900, 300_000])
def test_no_way_to_bill_tokens_is_dearer_than_the_bound(provider: str, into: int) -> None:
    """Of all models that the package lists."""
    assert load().result() is not None
    providers = import_module("genai_prices.data_snapshot").get_snapshot().providers
    models = [m.id for p in providers if p.id == provider for m in p.models]
    most = Bound(
        into, 700, is_in_known=True, is_out_known=True, media=frozenset({"image", "video"}),
        caches=True, caches_an_hour=True, is_fast=False,
    )  # fmt: skip
    name = {"google": "gcp.gemini"}.get(provider, provider)
    seen = 0

    for model in models:
        for answer in USAGES[provider](into, 700):
            tier = answer.get("service_tier", "")
            audio = most.media | {"audio"} if provider == "google" else most.media
            is_fast = answer.get("usage", {}).get("speed") == "fast"
            tiers = {tier} - {"", "default", "flex"}
            asked = most._replace(media=audio, is_fast=is_fast)
            price = price_of(name, model, usage_of([answer]), AT)
            usd = most_of(name, model, asked, AT, tiers=tiers)
            assert price is None or (usd is not None and price.usd <= usd[0] + 1e-12), answer
            seen += price is not None

    assert seen > 100


def test_a_priority_tier_that_is_asked_counts_at_its_price() -> None:
    asked = Bound(1_000_000, 0, is_in_known=True, is_out_known=True)

    usual = most_of("openai", "gpt-4.1-nano", asked, AT)
    priority = most_of("openai", "gpt-4.1-nano", asked, AT, tiers={"priority"})

    assert (usual, priority) == ((pytest.approx(0.10), True), (pytest.approx(0.20), True))
    assert most_of("openai", "gpt-5-nano", asked, AT, tiers={"priority"}) is None, "it is not sold"


def test_the_users_own_rate_is_of_every_tier() -> None:
    from nbckpt.config.model_prices import rates_of

    asked = Bound(1_000_000, 1_000_000, is_in_known=True, is_out_known=True)
    told = {"input_tokens": 1_000_000, "output_tokens": 1_000_000}
    usage = usage_of([{"service_tier": "priority", "usage": told}])
    rates = rates_of("gpt-4.1=1/2")

    price = price_of("openai", "gpt-4.1", usage, AT, rates)

    assert price is not None
    assert price.usd == 3.0
    assert most_of("openai", "gpt-4.1", asked, AT, tiers={"priority"}, rates=rates) == (3.0, True)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("gpt-4o-mini", 48_169), ("gpt-4.1-nano", 3_779), ("claude-opus-4-7", 4_784)],
)
def test_a_small_file_may_be_a_large_picture(model: str, tokens: int) -> None:
    url = {"image_url": {"url": f"data:image/png;base64,{PIXEL}"}, "type": "image_url"}
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    part = {"type": "image", "source": source} if model.startswith("claude") else url

    once = bound(model, messages=[{"role": "user", "content": [part]}], max_tokens=5)
    twice = bound(model, messages=[{"role": "user", "content": [part, part]}], max_tokens=5)

    assert tokens <= once.tokens_in
    assert 2 * tokens <= twice.tokens_in
    assert once.media == {"image"}


@pytest.mark.parametrize("number", [10**400, 10**12])
def test_a_number_beyond_all_budgets_is_a_number(number: int) -> None:
    for more in ({"n": number, "max_tokens": 5}, {"max_tokens": number}, {"max_tokens": 5}):
        assert 0 < bound(messages=HI, **more).tokens_out <= 10**12


@pytest.mark.parametrize(
    ("members", "calls", "tokens_in"),
    [
        ({"tools": [{"type": "function", "name": "f"}]}, 0, None),
        ({"tools": [{"name": "f", "input_schema": {}}]}, 0, None),
        ({"tools": [{"functionDeclarations": []}]}, 0, None),
        ({"tools": [{"type": "web_search_20250305", "name": "w", "max_uses": 3}]}, 3, 4_000),
        ({"tools": [{"type": "web_search"}], "max_tool_calls": 2}, 2, 3_000),
    ],
)
def test_a_providers_own_tools_count_as_often_as_they_may_be_called(
    members: dict[str, Any], calls: int, tokens_in: int | None
) -> None:
    asked = bound(messages=HI, max_tokens=5, **members)

    assert (asked.tool_calls, asked.is_in_known) == (calls, True)
    assert asked.tokens_in == tokens_in or (tokens_in is None and asked.tokens_in > 2_000)


@pytest.mark.parametrize(
    "members",
    [
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "web_search_20250305", "name": "w"}]},
        {"tools": [{"google_search": {}}]},
        {"tools": [{"functionDeclarations": [], "codeExecution": {}}]},
        {"web_search_options": {}},
        {"plugins": [{"id": "web"}]},
    ],
)
def test_tools_that_nothing_limits_have_no_bound(members: dict[str, Any]) -> None:
    asked = bound(messages=HI, max_tokens=5, **members)

    assert (asked.tool_calls, asked.is_in_known) == (None, False)


def budget() -> float:
    recorder = current.recorder()
    assert recorder is not None
    return recorder.budget.paid_usd


def test_a_dear_tier_is_put_aside(provider: Provider, recorded: Session) -> None:
    """gpt-4.1: 8 dollars for a million tokens out, 14 where priority is asked."""
    nbckpt.budget(1.2)
    with openai.OpenAI(max_retries=0) as client, scope.entered("step"):
        said: Any = HI
        with pytest.raises(BudgetError, match=r"may cost \$1.40|no price is known"):
            client.chat.completions.create(
                model="gpt-4.1", messages=said, max_tokens=100_000, service_tier="priority"
            )
        client.chat.completions.create(model="gpt-4.1", messages=said, max_tokens=100_000)

    assert provider.answered == 1


def test_a_tier_that_an_account_is_set_to_counts_from_then_on(
    recorded: Session, folder: Path
) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    answer = {"model": "gpt-4.1", "choices": [], "service_tier": "priority", "usage": usage}
    asked = {"model": "gpt-4.1", "messages": HI, "max_tokens": 100_000}
    nbckpt.budget(1.2)

    with answering(answer) as url, scope.entered("step"):
        httpx.post(f"{url}/v1/chat/completions", json=asked)
        with pytest.raises(BudgetError, match=r"may cost \$1.40|no price is known"):
            httpx.post(f"{url}/v1/chat/completions", json={**asked, "temperature": 0})
    recorded.wait()
    later = CallCosts(Session(Store.open(folder), {}, notebook="test"))

    assert later._tiers_of("gpt-4.1") == {"priority"}, "after a restart, too"


def test_the_number_of_pictures_in_a_form_counts(recorded: Session) -> None:
    """gpt-image-1: 40 dollars for a million tokens of a picture, of which it has 6,240 at most."""
    nbckpt.budget(1.5)
    form: Any = {"files": {"image": ("a.png", bytes(67), "image/png")}}

    with answering({"data": []}) as url, scope.entered("step"):
        data = {"model": "gpt-image-1", "prompt": "hi", "n": "9"}
        with pytest.raises(BudgetError):
            httpx.post(f"{url}/v1/images/edits", data=data, **form)
        httpx.post(f"{url}/v1/images/edits", data={**data, "n": "2"}, **form)

    assert len(records_of(recorded)) == 1


def test_a_search_counts_its_fee(recorded: Session) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "server_tool_use": {"web_search_requests": 4}}
    answer = {"type": "message", "model": "claude-haiku-4-5", "usage": usage}
    tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 4}
    asked = {"model": "claude-haiku-4-5", "messages": HI, "max_tokens": 10, "tools": [tool]}

    with answering(answer) as url, scope.entered("step"):
        nbckpt.budget(1.0)
        with pytest.raises(BudgetError):  # 5 times its window of 200,000 tokens, and 4 cents
            httpx.post(f"{url}/v1/messages", json=asked)
        nbckpt.budget(1.5)
        httpx.post(f"{url}/v1/messages", json=asked)

    assert budget() == pytest.approx(0.04 + (10 * 1 + 5 * 5) / 1e6)


def test_a_number_without_end_is_stopped_and_not_sent(
    provider: Provider, recorded: Session
) -> None:
    recorded.settings = replace(recorded.settings, prices="m=0/1")
    nbckpt.budget(5)
    asked = {"model": "m", "messages": HI, "n": 10**400, "max_tokens": 10}

    with scope.entered("step"), pytest.raises(BudgetError):
        httpx.post(f"{provider.url}/v1/chat/completions", json=asked)

    assert provider.requests == []


ODD: tuple[Any, ...] = (
    None, 1, "x", [1], [{}], {}, {"a": 1}, True, float("nan"), float("inf"), -5, 10**400,
    [{"modality": [], "tokenCount": "x"}], [{"type": []}], [{"type": "web_search", "action": 3}],
)  # fmt: skip
TOLD = (
    "prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "input_tokens",
    "cache_creation_input_tokens", "cache_creation", "iterations", "server_tool_use", "type",
    "service_tier", "trafficType", "promptTokenCount", "promptTokensDetails", "billed_units",
    "cost", "cost_details", "is_byok", "seconds", "pages_processed", "speed", "inference_geo",
)  # fmt: skip
ASKED = (
    "tools", "n", "max_tokens", "max_tool_calls", "plugins", "generationConfig", "service_tier",
    "prompt", "speed", "options",
)  # fmt: skip


@given(
    told=st.dictionaries(st.sampled_from(TOLD), st.sampled_from(ODD), max_size=5),
    around=st.dictionaries(
        st.sampled_from(("output", "service_tier", "meta", "pages")), st.sampled_from(ODD)
    ),
    asked=st.dictionaries(st.sampled_from(ASKED), st.sampled_from(ODD), max_size=5),
    provider=st.sampled_from(("openai", "anthropic", "openrouter", "x_ai", "gcp.gemini")),
)
@settings(deadline=None)
def test_what_is_odd_has_a_cost_or_none_and_no_error(
    told: dict[str, Any], around: dict[str, Any], asked: dict[str, Any], provider: str
) -> None:
    usage = usage_of([{"model": "gpt-4o", "usage": told, **around}])
    asked_for = bound_of("chat", "m", asked, b"{}", window=lambda: 9, longest=lambda: None)
    tiers = {dearer_tier_asked(asked)} - {""}

    price = price_of(provider, "gpt-4o", usage, AT)
    most = most_of("openai", "gpt-4o", asked_for, AT, tiers=tiers)

    assert price is None or 0 <= price.usd < float("inf")
    assert most is None or 0 <= most[0] < float("inf")
