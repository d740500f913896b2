"""Costs that were computed by hand, from answers as providers write them.

The figures stand on the providers' price pages, as genai-prices 0.2.3 read them in October 2026;
what was known of a page without it is said beside. Each is in US dollars for a million tokens.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

import httpx
import pytest

from nbckpt.llm import scope
from nbckpt.llm.prices import price_of
from nbckpt.llm.repricing import reprice
from nbckpt.llm.usage import usage_of
from nbckpt.session.session import Session
from tests.llm.answering import answering
from tests.llm.asking import records_of

AT = dt.datetime(2026, 11, 6, tzinfo=dt.UTC).timestamp()
M = 1_000_000


def chat(into: int, out: int, model: str, **more: Any) -> dict[str, Any]:
    """An answer of OpenAI's chat; of `more` the details are the usage's."""
    details = {name: more.pop(name) for name in list(more) if name.endswith("details")}
    usage = {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}
    return {"object": "chat.completion", "model": model, "usage": usage | details, **more}


def message(**usage: Any) -> dict[str, Any]:
    """An answer of Anthropic's messages."""
    return {"type": "message", "model": "claude-sonnet-4-5-20250929", "usage": usage}


def gemini(model: str, **usage: Any) -> dict[str, Any]:
    return {"candidates": [], "modelVersion": model, "usageMetadata": usage}


class Case(NamedTuple):
    """An answer, and what it costs; None if nobody can know."""

    provider: str
    answer: Any
    usd: float | None
    model: str = ""


CASES = {
    # OpenAI, "Pricing", text tokens, standard: gpt-5-mini 0.25 in, 0.025 cached, 2.00 out. The
    # cached ones are among those that went in, those of reasoning among those that came out.
    "openai": Case(
        "openai",
        chat(3_000, 500, "gpt-5-mini-2025-08-07", service_tier="default",
             prompt_tokens_details={"cached_tokens": 2_048, "audio_tokens": 0},
             completion_tokens_details={"reasoning_tokens": 320}),
        ((3_000 - 2_048) * 0.25 + 2_048 * 0.025 + 500 * 2.00) / M,
    ),
    # The same page, flex: half of everything.
    "openai flex": Case(
        "openai",
        chat(3_000, 500, "gpt-5-mini", service_tier="flex",
             prompt_tokens_details={"cached_tokens": 2_048}),
        ((3_000 - 2_048) * 0.125 + 2_048 * 0.0125 + 500 * 1.00) / M,
    ),
    # The same page, priority: gpt-5-mini 0.45 in, 0.045 cached, 3.60 out.
    "openai priority": Case(
        "openai",
        chat(3_000, 500, "gpt-5-mini", service_tier="priority",
             prompt_tokens_details={"cached_tokens": 2_048}),
        ((3_000 - 2_048) * 0.45 + 2_048 * 0.045 + 500 * 3.60) / M,
    ),
    # Flex was asked, and the answer says that it was not had.
    "openai, served as usual": Case(
        "openai",
        [{"response": {"model": "gpt-5-mini", "service_tier": "flex", "usage": None}},
         {"response": {"model": "gpt-5-mini", "service_tier": "default",
                       "usage": {"input_tokens": 1_000, "output_tokens": 100}}}],
        (1_000 * 0.25 + 100 * 2.00) / M,
    ),
    # OpenAI, "Batch API" guide: a discount of 50 %.
    "openai batch": Case(
        "openai", chat(10_000, 1_000, "gpt-4.1", service_tier="batch"),
        (10_000 * 2.00 + 1_000 * 8.00) / 2 / M,
    ),
    # OpenAI, "Scale tier": bought in advance, so that no call has a price.
    "openai scale": Case("openai", chat(10_000, 1_000, "gpt-5", service_tier="scale"), None),
    # OpenAI, "Pricing", fine-tuning: gpt-4o-mini-2024-07-18 0.30 in, 1.20 out, twice its base.
    "fine-tuned": Case(
        "openai", chat(20_000, 4_000, "ft:gpt-4o-mini-2024-07-18:org:name:id"),
        (20_000 * 0.30 + 4_000 * 1.20) / M,
    ),
    # The package does not list these, or lists them at their base's price.
    "fine-tuned, not listed": Case(
        "openai", chat(20_000, 4_000, "ft:gpt-4.1-mini-2025-04-14:org:name:id"), None
    ),
    "fine-tuned, listed with its base": Case(
        "openai", chat(20_000, 4_000, "ft:gpt-4-0613:org:name:id"), None
    ),
    # OpenAI, "Pricing", audio tokens: gpt-audio text 2.50 in, 10.00 out; audio 32.00 in, 64.00 out.
    "audio both ways": Case(
        "openai",
        chat(150, 260, "gpt-audio-2025-08-28",
             prompt_tokens_details={"audio_tokens": 100, "text_tokens": 50, "cached_tokens": 0},
             completion_tokens_details={"audio_tokens": 200, "text_tokens": 60}),
        (50 * 2.50 + 100 * 32.00 + 60 * 10.00 + 200 * 64.00) / M,
    ),
    # Its text has a price in the package (2.50), and its audio (40.00) does not.
    "audio without a price": Case(
        "openai",
        chat(150, 60, "gpt-4o-audio-preview", prompt_tokens_details={"audio_tokens": 100}),
        None,
    ),
    # OpenAI, "Pricing", image tokens: gpt-image-1 text 5.00 in, pictures 10.00 in, 40.00 out; its
    # guide "Image generation": a square of high quality is 4,160 tokens.
    "a picture of a picture": Case(
        "openai",
        {"created": 1, "data": [], "usage": {
            "input_tokens": 373, "output_tokens": 4_160, "total_tokens": 4_533,
            "input_tokens_details": {"text_tokens": 50, "image_tokens": 323}}},
        (50 * 5.00 + 323 * 10.00 + 4_160 * 40.00) / M,
        "gpt-image-1",
    ),
    # OpenAI, "Pricing", transcription: gpt-4o-transcribe text 2.50 in, 10.00 out, audio 6.00 in.
    "speech by tokens": Case(
        "openai",
        {"text": "…", "usage": {
            "type": "tokens", "input_tokens": 114, "output_tokens": 45, "total_tokens": 159,
            "input_token_details": {"text_tokens": 14, "audio_tokens": 100}}},
        (14 * 2.50 + 100 * 6.00 + 45 * 10.00) / M,
        "gpt-4o-transcribe",
    ),
    # The same page: whisper-1 $0.006 a minute.
    "speech by seconds": Case(
        "openai",
        {"text": "…", "usage": {"type": "duration", "seconds": 95}},
        95 / 60 * 0.006,
        "whisper-1",
    ),
    # A model that is billed by seconds, and a server that tells tokens: not nothing.
    "speech by the wrong unit": Case("openai", chat(100, 10, "whisper-1"), None),
    # OpenAI, "Pricing", embeddings: text-embedding-3-small 0.02.
    "embeddings": Case(
        "openai",
        {"object": "list", "model": "text-embedding-3-small",
         "usage": {"prompt_tokens": 8_000, "total_tokens": 8_000}},
        8_000 * 0.02 / M,
    ),
    # OpenAI, "Pricing", gpt-5.6-sol since 2026-08-21: 4.00 in, 5.00 written to a cache, 20.00 out;
    # of prompts over 272,000 tokens 8.00, 10.00 and 30.00.
    "openai, a long prompt": Case(
        "openai",
        chat(300_000, 1_000, "gpt-5.6-sol", prompt_tokens_details={"cache_write_tokens": 280_000}),
        (20_000 * 8.00 + 280_000 * 10.00 + 1_000 * 30.00) / M,
    ),
    # OpenAI, "Pricing", built-in tools: web search $10 and file search $2.50 per 1,000 calls; a
    # page that is opened is no search. gpt-4.1 2.00 in, 8.00 out.
    "openai's tools": Case(
        "openai",
        {"object": "response", "model": "gpt-4.1-2025-04-14", "service_tier": "default",
         "output": [
             {"type": "web_search_call", "action": {"type": "search", "query": "a"}},
             {"type": "web_search_call", "action": {"type": "open_page", "url": "b"}},
             {"type": "web_search_call"},
             {"type": "file_search_call", "queries": ["c"]},
             {"type": "message"}],
         "usage": {"input_tokens": 9_000, "output_tokens": 700, "total_tokens": 9_700}},
        (9_000 * 2.00 + 700 * 8.00) / M + 2 * 10 / 1_000 + 1 * 2.50 / 1_000,
    ),
    # Anthropic, "Pricing", Claude Sonnet 4.5 (as of 2025): 3.00 in, 3.75 written for 5 minutes,
    # 6.00 for an hour, 0.30 read, 15.00 out. `input_tokens` are what no cache was asked for.
    "anthropic's caches": Case(
        "anthropic",
        message(input_tokens=100, cache_read_input_tokens=20_000,
                cache_creation_input_tokens=5_000, output_tokens=400, service_tier="standard",
                cache_creation={"ephemeral_5m_input_tokens": 2_000,
                                "ephemeral_1h_input_tokens": 3_000}),
        (100 * 3.00 + 20_000 * 0.30 + 2_000 * 3.75 + 3_000 * 6.00 + 400 * 15.00) / M,
    ),
    # An older answer does not tell for how long: for 5 minutes, as was usual.
    "anthropic's cache without a time": Case(
        "anthropic",
        message(input_tokens=100, cache_creation_input_tokens=5_000, output_tokens=400),
        (100 * 3.00 + 5_000 * 3.75 + 400 * 15.00) / M,
    ),
    # Anthropic, "Batch processing": half of all token prices, caches too.
    "anthropic batch": Case(
        "anthropic",
        message(input_tokens=100, cache_read_input_tokens=20_000, cache_creation_input_tokens=0,
                output_tokens=400, service_tier="batch"),
        (100 * 3.00 + 20_000 * 0.30 + 400 * 15.00) / 2 / M,
    ),
    # Anthropic, "Service tiers": priority is committed to in advance.
    "anthropic priority": Case(
        "anthropic", message(input_tokens=100, output_tokens=400, service_tier="priority"), None
    ),
    # Anthropic, "Pricing", web search: $10 per 1,000 searches, beside the tokens.
    "anthropic's searches": Case(
        "anthropic",
        message(input_tokens=8_000, output_tokens=600,
                server_tool_use={"web_search_requests": 3, "web_fetch_requests": 2}),
        (8_000 * 3.00 + 600 * 15.00) / M + 3 * 10 / 1_000,
    ),
    # Anthropic, "Pricing", data residency: 1.1 times for models from Opus 4.6 on (5.00 in, 25.00
    # out) that stay in the United States.
    "anthropic in the US": Case(
        "anthropic",
        message(input_tokens=8_000, output_tokens=600, inference_geo="us"),
        (8_000 * 5.00 + 600 * 25.00) * 1.1 / M,
        "claude-opus-4-6",
    ),
    # Anthropic, "Fast mode": Opus 5 at 10.00 in, 50.00 out.
    "anthropic fast": Case(
        "anthropic", message(input_tokens=8_000, output_tokens=600, speed="fast"),
        (8_000 * 10.00 + 600 * 50.00) / M,
        "claude-opus-5",
    ),
    # Anthropic's reference of `usage.iterations`: a compaction is not in the figures above it.
    "anthropic compacts": Case(
        "anthropic",
        message(input_tokens=1_000, output_tokens=100, iterations=[
            {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
            {"type": "message", "input_tokens": 1_000, "output_tokens": 100}]),
        (181_000 * 3.00 + 3_600 * 15.00) / M,
    ),
    "anthropic asks another model": Case(
        "anthropic",
        message(input_tokens=1_000, output_tokens=100, iterations=[
            {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 9,
             "output_tokens": 9}]),
        None,
    ),
    # Google, "Gemini Developer API pricing", gemini-2.5-pro: prompts over 200,000 tokens 2.50 in,
    # 0.25 cached, 15.00 out, of which thoughts are a part.
    "gemini, a long prompt": Case(
        "gcp.gemini",
        gemini("gemini-2.5-pro", promptTokenCount=250_000, cachedContentTokenCount=100_000,
               candidatesTokenCount=1_000, thoughtsTokenCount=2_000, totalTokenCount=253_000),
        (150_000 * 2.50 + 100_000 * 0.25 + 3_000 * 15.00) / M,
    ),
    # The same page, gemini-2.5-flash: text, pictures and video 0.30, audio 1.00, 2.50 out; what a
    # tool brought into the prompt is input, too.
    "gemini by modality": Case(
        "gcp.vertex_ai",
        gemini("gemini-2.5-flash", promptTokenCount=1_500, toolUsePromptTokenCount=200,
               candidatesTokenCount=300, trafficType="ON_DEMAND",
               promptTokensDetails=[{"modality": "TEXT", "tokenCount": 242},
                                    {"modality": "IMAGE", "tokenCount": 258},
                                    {"modality": "AUDIO", "tokenCount": 1_000}]),
        (1_000 * 1.00 + (500 + 200) * 0.30 + 300 * 2.50) / M,
    ),
    # The same, from a cache of text at 0.03: the audio was not in it.
    "gemini, audio beside a cache": Case(
        "gcp.gemini",
        gemini("gemini-2.5-flash", promptTokenCount=5_000, cachedContentTokenCount=4_000,
               candidatesTokenCount=10,
               promptTokensDetails=[{"modality": "TEXT", "tokenCount": 4_500},
                                    {"modality": "AUDIO", "tokenCount": 500}],
               cacheTokensDetails=[{"modality": "TEXT", "tokenCount": 4_000}]),
        (500 * 0.30 + 4_000 * 0.03 + 500 * 1.00 + 10 * 2.50) / M,
    ),
    # The same page, gemini-3.1-flash-image: text out 3.00, pictures out 60.00, 0.50 in.
    "gemini draws": Case(
        "gcp.gemini",
        gemini("gemini-3.1-flash-image", promptTokenCount=40, candidatesTokenCount=1_140,
               candidatesTokensDetails=[{"modality": "IMAGE", "tokenCount": 1_120}]),
        (40 * 0.50 + 20 * 3.00 + 1_120 * 60.00) / M,
    ),
    # Vertex AI, "Provisioned throughput": bought in advance.
    "gemini, provisioned": Case(
        "gcp.vertex_ai",
        gemini("gemini-2.5-pro", promptTokenCount=9, candidatesTokenCount=9,
               trafficType="PROVISIONED_THROUGHPUT"),
        None,
    ),
    # DeepSeek, "Models & Pricing", deepseek-v3.1-terminus: 0.27 in, 0.13 from its cache, 0.95 out.
    "deepseek's cache": Case(
        "deepseek",
        {"model": "deepseek-v3.1-terminus", "usage": {
            "prompt_tokens": 1_000, "completion_tokens": 200, "total_tokens": 1_200,
            "prompt_cache_hit_tokens": 640, "prompt_cache_miss_tokens": 360}},
        (360 * 0.27 + 640 * 0.13 + 200 * 0.95) / M,
    ),
    # xAI, "Models", grok-3-mini: 0.30 in, 0.50 out. Thoughts stand beside what came out.
    "xai thinks beside": Case(
        "x_ai",
        {"model": "grok-3-mini", "usage": {
            "prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94}}},
        (32 * 0.30 + (9 + 94) * 0.50) / M,
    ),
    # xAI, "Cost Tracking": ten thousand million ticks are a dollar, tools and discounts included.
    "xai's own figure": Case(
        "x_ai",
        {"model": "grok-3-mini", "usage": {
            "prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 41,
            "cost_in_usd_ticks": 37_756_000}},
        37_756_000 / 10**10,
    ),
    # OpenRouter, "Usage Accounting": `cost` is what its account is charged; with a key of one's
    # own, the model's provider charges its part beside.
    "openrouter's own figure": Case(
        "openrouter",
        {"model": "openai/gpt-4o", "usage": {
            "prompt_tokens": 194, "completion_tokens": 2, "total_tokens": 196, "cost": 0.00095}},
        0.00095,
    ),
    "openrouter with one's own key": Case(
        "openrouter",
        {"model": "openai/gpt-4o", "usage": {
            "prompt_tokens": 194, "completion_tokens": 2, "cost": 0.00005, "is_byok": True,
            "cost_details": {"upstream_inference_cost": 0.00095}}},
        0.00005 + 0.00095,
    ),
    # Perplexity, reference of chat completions: `cost.total_cost` is of tokens and the request.
    "perplexity's own figure": Case(
        "perplexity",
        {"model": "sonar", "usage": {
            "prompt_tokens": 8, "completion_tokens": 439, "total_tokens": 447,
            "cost": {"input_tokens_cost": 0.000008, "output_tokens_cost": 0.000439,
                     "request_cost": 0.005, "total_cost": 0.005447}}},
        0.005447,
    ),
    # Mistral, "Pricing": mistral-large-2512 0.50 in, 1.50 out; OCR 4.1 $4 for 1,000 pages, $5 with
    # annotations.
    "mistral": Case(
        "mistral_ai", chat(4_000, 900, "mistral-large-2512"), (4_000 * 0.50 + 900 * 1.50) / M
    ),
    "mistral reads pages": Case(
        "mistral_ai",
        {"model": "mistral-ocr-4-1", "pages": [], "document_annotation": None,
         "usage_info": {"pages_processed": 12, "doc_size_bytes": 9_999}},
        12 * 4 / 1_000,
    ),
    "mistral describes pages": Case(
        "mistral_ai",
        {"model": "mistral-ocr-4-1", "pages": [], "document_annotation": '{"a": 1}',
         "usage_info": {"pages_processed": 12}},
        12 * 5 / 1_000,
    ),
    # Cohere, "Pricing", command-a: 2.50 in, 10.00 out, of what it says it bills.
    "cohere's billed units": Case(
        "cohere",
        {"usage": {"billed_units": {"input_tokens": 500, "output_tokens": 80},
                   "tokens": {"input_tokens": 1_700, "output_tokens": 95}}},
        (500 * 2.50 + 80 * 10.00) / M,
        "command-a-03-2025",
    ),
    "cohere's embeddings": Case(
        "cohere", {"meta": {"billed_units": {"input_tokens": 700}}}, 700 * 0.12 / M, "embed-v4.0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_call_costs_what_its_provider_asks(name: str) -> None:
    provider, answer, usd, model = CASES[name]
    usage = usage_of(answer if isinstance(answer, list) else [answer])

    price = price_of(provider, model or usage.model, usage, AT)

    assert (price and price.usd) == (usd and pytest.approx(usd, rel=1e-9))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("openai", ""),
        ("openai flex", ", flex"),
        ("anthropic batch", ", batch"),
        ("anthropic fast", ", fast"),
    ],
)
def test_the_source_of_a_price_names_the_tier(name: str, source: str) -> None:
    provider, answer, _, model = CASES[name]
    usage = usage_of([answer])

    price = price_of(provider, model or usage.model, usage, AT)

    assert price is not None
    assert price.source.startswith("genai-prices 0.")
    assert price.source.removeprefix("genai-prices 0.").lstrip("0123456789.") == source


def test_a_tier_that_the_package_does_not_know_yet_is_at_half_or_unknown() -> None:
    """It lists batches, flex and priority since October 2026."""
    before = dt.datetime(2026, 3, 1, tzinfo=dt.UTC).timestamp()
    tiers = ("flex", "batch", "priority", "unheard of")
    usages = [usage_of([chat(3_000, 500, "gpt-5-mini", service_tier=tier)]) for tier in tiers]

    prices = [price_of("openai", "gpt-5-mini", usage, before) for usage in usages]

    half = (3_000 * 0.25 + 500 * 2.00) / 2 / M
    assert [price and price.usd for price in prices] == [pytest.approx(half)] * 2 + [None] * 2
    assert [p.source.partition(", ")[2] for p in prices if p] == ["flex at half", "batch at half"]


def test_an_answer_of_a_batch_costs_half_whatever_its_line_says() -> None:
    answer = chat(10_000, 1_000, "gpt-4.1", service_tier="default")

    price = price_of("openai", "gpt-4.1", usage_of([answer], tier="batch"), AT)

    assert price is not None
    assert price.usd == pytest.approx((10_000 * 2.00 + 1_000 * 8.00) / 2 / M)


def test_a_fee_without_a_price_is_said_to_be_missing() -> None:
    answer = {**chat(100, 10, "gpt-4.1-nano"), "output": [{"type": "web_search_call"}]}

    price = price_of("openai", "gpt-4.1-nano", usage_of([answer]), AT)

    assert price is not None
    assert price.usd == pytest.approx((100 * 0.10 + 10 * 0.40) / M)
    assert price.source.endswith(", without web searches")


PATHS = {
    "openai": "/v1/chat/completions",
    "openai flex": "/v1/chat/completions",
    "fine-tuned, not listed": "/v1/chat/completions",
    "a picture of a picture": "/v1/images/generations",
    "embeddings": "/v1/embeddings",
    "openai's tools": "/v1/responses",
    "anthropic's caches": "/v1/messages",
    "anthropic's searches": "/v1/messages",
    "gemini by modality": "/v1beta/models/gemini-2.5-flash:generateContent",
}


@pytest.mark.parametrize("name", PATHS)
def test_the_recording_has_the_cost_and_can_be_priced_again(name: str, recorded: Session) -> None:
    _, answer, usd, model = CASES[name]
    asked = {"model": model or answer.get("model"), "input": "hi", "messages": [], "prompt": "hi"}

    with answering(answer) as url, scope.entered("step"):
        httpx.post(url + PATHS[name], json=asked)

    (record,) = records_of(recorded)
    assert record.get("cost_usd") == (usd and pytest.approx(usd, rel=1e-9))
    assert reprice(recorded).changed == 0


@pytest.mark.parametrize("name", ["speech by tokens", "speech by seconds"])
def test_a_transcription_has_a_cost(name: str, recorded: Session) -> None:
    _, answer, usd, model = CASES[name]
    form = {"files": {"file": ("a.mp3", b"\0" * 900, "audio/mpeg")}, "data": {"model": model}}

    with answering(answer) as url, scope.entered("step"):
        httpx.post(f"{url}/v1/audio/transcriptions", **form)  # type: ignore[arg-type]

    (record,) = records_of(recorded)
    assert record["model"] == model
    assert record["cost_usd"] == pytest.approx(usd)


def test_a_stream_costs_by_the_tier_that_its_events_name(recorded: Session) -> None:
    chunk = {"object": "chat.completion.chunk", "model": "gpt-5-mini", "choices": []}
    usage = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}
    events = [{**chunk, "service_tier": "flex"}, {**chunk, "service_tier": "flex", "usage": usage}]

    with answering(events) as url, scope.entered("step"):
        asked = {"model": "gpt-5-mini", "messages": [], "stream": True}
        httpx.post(f"{url}/v1/chat/completions", json=asked)

    (record,) = records_of(recorded)
    assert record["cost_usd"] == pytest.approx((1_000 * 0.125 + 100 * 1.00) / M)


def test_geminis_tier_stands_in_a_header(recorded: Session) -> None:
    answer = gemini("gemini-2.5-flash", promptTokenCount=1_000, candidatesTokenCount=100)

    with answering(answer, {"x-gemini-service-tier": "flex"}) as url, scope.entered("step"):
        httpx.post(f"{url}/v1beta/models/gemini-2.5-flash:generateContent", json={"contents": []})

    (record,) = records_of(recorded)
    assert record["usage"]["service_tier"] == "flex"
    assert record["cost_usd"] == pytest.approx((1_000 * 0.30 + 100 * 2.50) / 2 / M)
