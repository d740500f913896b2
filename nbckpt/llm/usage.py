"""Tokens that an answer took, as its provider reports them. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

_MEMBERS = (
    *("usage", "usageMetadata", "usage_metadata", "usage_info"),
    "amazon-bedrock-invocationMetrics",
)
_WITHIN = ("message", "response", "delta", "interaction")
"""Members in which those stand, of an event."""
_TELLING = {"meta": "billed_units", "metrics": "input_token_count"}
"""Members that hold figures only if they have such a one: of Cohere, of Replicate."""
_OLLAMA = ("prompt_eval_count", "eval_count")
_MODELS = ("model", "modelVersion")

TIER = "service_tier"
"""The member of `Usage.told` that names the tier that a call was served in."""
TOOL_CALLS = "server_tool_calls"
"""The member of `Usage.told` that counts calls of tools that the provider ran: kind → number."""
BATCH = "batch"
"""The tier of what was asked for later."""
ANNOTATED = "is_annotated"
"""The member of `Usage.told` that is there if Mistral described the pages that it read, too."""
_BILLED_CALLS = {"web_search_call": "web_search", "file_search_call": "file_search"}


class Usage(NamedTuple):
    """Tokens; None where nothing was told.

    Attributes
    ----------
    tokens_in
        All that went in, also from a cache.
    tokens_out
        All that came out, also reasoning.
    told
        What the provider said, in its own words; and `TIER`, `TOOL_CALLS` and `ANNOTATED`, which
        it says beside.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    model: str = ""
    told: Mapping[str, Any] = {}


def usage_of(values: Iterable[Any], tier: str = "", *, thinks_beside: bool = True) -> Usage:
    """Usage in the JSON values of an answer: one value, or one for each event of a stream.

    A stream reports some of it at its beginning and the rest at its end; the later figure counts.

    Parameters
    ----------
    tier
        In which it was served if the values do not name one; empty: the usual one. ``batch``
        counts whatever they name: OpenAI's lines of a batch say ``default``.
    thinks_beside
        Whether thoughts may be counted in the total alone, as by xAI.
    """
    told: dict[str, Any] = {}
    beside: dict[str, Any] = {TIER: tier} if tier else {}
    model = ""
    for value in values:
        for part in _parts(value):
            model = model or next((v for k in _MODELS if isinstance(v := part.get(k), str)), "")
            for name in _MEMBERS:
                if isinstance(part.get(name), dict):
                    told |= {k: v for k, v in part[name].items() if v is not None}
            told |= {k: part[k] for k in _OLLAMA if isinstance(part.get(k), int)}
            for name, figure in _TELLING.items():
                if isinstance(inner := part.get(name), dict) and figure in inner:
                    told |= inner
            if isinstance(found := part.get("predictions"), list):
                told |= _of_predictions(found)
            if isinstance(part.get(TIER), str) and tier != BATCH:
                beside[TIER] = part[TIER]
            if part.get("document_annotation") or _has_notes(part.get("pages")):
                beside[ANNOTATED] = True
            if calls := _tool_calls(part):
                beside[TOOL_CALLS] = calls
    if told:
        told = beside | {name: _finite(figure) for name, figure in told.items()}
    return Usage(*_tokens(told, thinks_beside=thinks_beside), model, told)


def _finite(told: Any) -> Any:
    """What an answer tells, with None for a number without end, which a record cannot hold."""
    if isinstance(told, dict):
        return {name: _finite(inner) for name, inner in told.items()}
    if isinstance(told, list):
        return [_finite(inner) for inner in told]
    return told if not isinstance(told, float) or math.isfinite(told) else None


def _parts(value: Any) -> Iterator[Mapping[str, Any]]:
    """Where figures stand: in the value itself, or in the message that an event is about."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield each
            for name in _WITHIN:
                if isinstance(inner := each.get(name), dict):
                    yield inner


def usage_in_headers(header: Callable[[str], str]) -> Mapping[str, Any]:
    """Usage that Bedrock tells beside an answer whose body is a model's own."""
    told = {name: header(f"x-amzn-bedrock-{name}-token-count") for name in ("input", "output")}
    return {"usage": {f"{name}Tokens": int(n) for name, n in told.items() if n.isdecimal()}}


def _of_predictions(predictions: list[Any]) -> dict[str, int]:
    """The tokens of texts that Vertex has embedded: it tells them of each."""
    found = [each for each in predictions if isinstance(each, dict)]
    embedded = [inner for each in found if isinstance(inner := each.get("embeddings"), dict)]
    told = [inner for each in embedded if isinstance(inner := each.get("statistics"), dict)]
    total = _sum(*(number_in(each, "token_count") for each in told))
    return {} if total is None else {"total_tokens": total}


def _tool_calls(part: Mapping[str, Any]) -> dict[str, int]:
    """Calls of OpenAI's own tools that have a fee: a page that is opened has none."""
    output = part.get("output")
    calls: Counter[str] = Counter()
    for item in output if isinstance(output, list) else ():
        kind = _BILLED_CALLS.get(str(item.get("type"))) if isinstance(item, dict) else None
        action = item.get("action") if kind else None
        if kind and not (isinstance(action, dict) and action.get("type", "search") != "search"):
            calls[kind] += 1
    return dict(calls)


def _has_notes(pages: Any) -> bool:
    """True if a picture on a page is described."""
    images = (
        page.get("images")
        for page in (pages if isinstance(pages, list) else ())
        if isinstance(page, dict)
    )
    return any(
        isinstance(image, dict) and bool(image.get("image_annotation"))
        for each in images
        if isinstance(each, list)
        for image in each
    )


# -- tokens -----------------------------------------------------------------------------------

_ANTHROPICS = {"cache_read_input_tokens", "cache_creation_input_tokens", "iterations"}
_Tokens = tuple[int | None, int | None, int | None, int | None]


def _tokens(told: Mapping[str, Any], *, thinks_beside: bool) -> _Tokens:
    if "promptTokenCount" in told or "candidatesTokenCount" in told:
        return _of_gemini(told)
    if "prompt_eval_count" in told or "eval_count" in told:  # Ollama
        return number_in(told, "prompt_eval_count"), number_in(told, "eval_count"), None, None
    if not _ANTHROPICS.isdisjoint(told):
        return _of_anthropic(told)
    if isinstance(billed := told.get("billed_units") or told.get("tokens"), dict):  # Cohere
        return number_in(billed, "input_tokens"), number_in(billed, "output_tokens"), None, None
    if "total_input_tokens" in told or "total_output_tokens" in told:
        return _of_interactions(told)
    if told.keys() & {"input_tokens", "prompt_tokens", "completion_tokens"}:
        return _of_openai(told, thinks_beside=thinks_beside)
    return _of_others(told)


def _of_gemini(told: Mapping[str, Any]) -> _Tokens:
    into = _sum(number_in(told, "promptTokenCount"), number_in(told, "toolUsePromptTokenCount"))
    thoughts = number_in(told, "thoughtsTokenCount")
    out = _sum(number_in(told, "candidatesTokenCount"), thoughts)
    return into, out, number_in(told, "cachedContentTokenCount"), thoughts


def _of_interactions(told: Mapping[str, Any]) -> _Tokens:
    """The same of Gemini's interactions."""
    thoughts = number_in(told, "total_thought_tokens")
    out = _sum(number_in(told, "total_output_tokens"), thoughts)
    cached = number_in(told, "total_cached_tokens")
    return number_in(told, "total_input_tokens"), out, cached, thoughts


def _of_anthropic(told: Mapping[str, Any]) -> _Tokens:
    """Tokens of an answer whose `input_tokens` are those that no cache was asked for."""
    rounds = rounds_of(told)
    fresh, out = (
        _sum(*(number_in(each, name) for each in rounds))
        for name in ("input_tokens", "output_tokens")
    )
    read, written = (
        _sum(*(number_in(each, f"cache_{name}_input_tokens") for each in rounds))
        for name in ("read", "creation")
    )
    thinking = number_in(details_of(told, "output"), "thinking_tokens")
    return _sum(fresh, read, written), out, read, thinking


def rounds_of(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The figures that Anthropic bills: those of the answer, and of each compaction beside it."""
    more = told.get("iterations")
    inner = [each for each in more if isinstance(each, dict)] if isinstance(more, list) else []
    return [told, *(each for each in inner if each.get("type") == "compaction")]


def _of_openai(told: Mapping[str, Any], *, thinks_beside: bool) -> _Tokens:
    names = ("input", "output") if "input_tokens" in told else ("prompt", "completion")
    into, out = (number_in(told, f"{name}_tokens") for name in names)
    cached = number_in(details_of(told, "input"), "cached_tokens", "cache_read_input_tokens")
    if cached is None:  # DeepSeek; Moonshot; xAI; Mistral
        cached = number_in(
            told, "prompt_cache_hit_tokens", "cached_tokens", "cached_prompt_text_tokens",
            "num_cached_tokens",
        )  # fmt: skip
    reasoning = number_in(details_of(told, "output"), "reasoning_tokens")
    if reasoning is None:
        reasoning = number_in(told, "reasoning_tokens")
    total = number_in(told, "total_tokens") if thinks_beside else None
    if None not in (into, out, total) and "prompt_audio_seconds" not in told:
        # xAI, and Gemini's endpoint of OpenAI's kind, count thoughts in the total alone.
        out = max(out or 0, (total or 0) - (into or 0))
    return into, out, cached, reasoning


def _of_others(told: Mapping[str, Any]) -> tuple[int | None, int | None, int | None, None]:
    """As Bedrock counts, Replicate, and who counts only what goes in: Jina, Voyage, Vertex."""
    if "inputTokens" in told or "outputTokens" in told:
        read, written = (number_in(told, f"cache{name}InputTokens") for name in ("Read", "Write"))
        into = _sum(number_in(told, "inputTokens"), read, written)
        return into, number_in(told, "outputTokens"), read, None
    for name in ("{}TokenCount", "{}_token_count"):
        into, out = (number_in(told, name.format(way)) for way in ("input", "output"))
        if into is not None or out is not None:
            return into, out, None, None
    return number_in(told, "total_tokens"), None, None, None


def details_of(told: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    """The parts that make up what went in (`side` is ``input``) or came out (``output``)."""
    other = {"input": "prompt", "output": "completion"}[side]
    for name in (f"{other}_tokens_details", f"{side}_tokens_details", f"{side}_token_details"):
        if isinstance(details := told.get(name), dict):
            return details
    return {}


def number_in(members: Mapping[str, Any], *names: str) -> int | None:
    """The first of some members that is a number."""
    for name in names:
        value = members.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
            return int(value)
    return None


def _sum(*figures: int | None) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None
